import { join } from "node:path";
import type { TensorRole } from "../model/types.ts";
import { type ChunkPart, layoutChunks, panelGroup, tensorPanelBytes, tensorPanels } from "../store/layout.ts";
import type { Manifest, StoredFile, StoredTensor, TensorDtype } from "../store/types.ts";

/** Panels of one tensor inside a chunk, with all that computing them takes. */
export interface Part {
  readonly role: TensorRole;
  readonly dtype: TensorDtype;
  readonly columns: number;
  readonly firstPanel: number;
  readonly panels: number;
  /** So many panels that follow each other belong together: threads share out whole groups. */
  readonly panelGroup: number;
  /** Panels of the whole tensor. */
  readonly tensorPanels: number;
  readonly panelBytes: number;
  /** From the start of the chunk. */
  readonly offset: number;
}

/** One disk read. */
export interface ChunkRead {
  /** Index into the plan's paths. */
  readonly file: number;
  readonly offset: number;
  /** Bytes on disk; fewer than `bytes` where the chunk is compressed. */
  readonly stored: number;
  readonly bytes: number;
  /** Layer that it belongs to; the number of layers for the output matrix. */
  readonly stage: number;
  readonly parts: readonly Part[];
}

/** What a sweep reads, in order: every layer's chunks, then (when logits are wanted) those of the output. */
export interface SweepPlan {
  readonly paths: readonly string[];
  readonly chunks: readonly ChunkRead[];
  /** How many of the chunks belong to layers. */
  readonly layerChunks: number;
  /** Bytes of the longest chunk. */
  readonly slotBytes: number;
}

/** Dtypes of the tensors of each stage: of each layer, last of the output. */
export function stageDtypes({ chunks }: Pick<SweepPlan, "chunks">): ReadonlyMap<TensorRole, TensorDtype>[] {
  const stages: Map<TensorRole, TensorDtype>[] = [];
  for (const { stage, parts } of chunks) {
    stages[stage] ??= new Map();
    for (const { role, dtype } of parts) stages[stage].set(role, dtype);
  }
  return stages;
}

export function planSweep(
  folder: string,
  manifest: Pick<Manifest, "model" | "embedding" | "layers" | "output">,
): SweepPlan {
  const layouts = new Layouts();
  const paths: string[] = [];
  const chunks: ChunkRead[] = [];
  const add = (file: StoredFile, stage: number) => {
    paths.push(join(folder, file.name));
    for (const [index, { bytes, parts }] of layouts.of(file.tensors).entries()) {
      const { offset, stored } = file.chunks[index];
      chunks.push({ file: paths.length - 1, offset, stored, bytes, stage, parts });
    }
  };

  for (const [layer, file] of manifest.layers.entries()) add(file, layer);
  const layerChunks = chunks.length;
  add(manifest.output, manifest.layers.length);
  if (manifest.model.tiedOutput) add(manifest.embedding, manifest.layers.length);
  const slotBytes = chunks.reduce((longest, chunk) => Math.max(longest, chunk.bytes), 0);
  return { paths, chunks, layerChunks, slotBytes };
}

type Layout = readonly Pick<ChunkRead, "bytes" | "parts">[];

/** Layers of a kind have one layout, and share it: every thread gets a plan of its own, and models have thousands of parts. */
class Layouts {
  readonly #known = new Map<string, Layout>();

  of(tensors: readonly StoredTensor[]): Layout {
    const shape = JSON.stringify(
      tensors.map(({ role, kind, dtype, rows, columns, sources }) => [
        role,
        kind,
        dtype,
        rows,
        columns,
        sources.length,
      ]),
    );
    const known = this.#known.get(shape);
    if (known !== undefined) return known;
    const layout = layoutChunks(tensors).map(({ bytes, parts }) => {
      return { bytes, parts: parts.map((part) => describe(part, tensors[part.tensor])) };
    });
    this.#known.set(shape, layout);
    return layout;
  }
}

function describe({ firstPanel, panels, offset }: ChunkPart, tensor: StoredTensor): Part {
  const { role, dtype, columns } = tensor;
  return {
    ...{ role, dtype, columns, firstPanel, panels, offset },
    panelGroup: panelGroup(tensor),
    tensorPanels: tensorPanels(tensor),
    panelBytes: tensorPanelBytes(tensor),
  };
}
