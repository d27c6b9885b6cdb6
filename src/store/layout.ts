/**
 * How the tensors of a file are cut into chunks: the one place that decides it. Unpacking writes by it, streaming
 * reads by it, and nothing of it is stored, for it follows from the list of tensors.
 *
 * A chunk is what one disk read brings: whole groups of panels, of one tensor or of several small ones, at most
 * `CHUNK_BYTES` (but always at least one group). Chunks tile the file. Every part of a chunk starts on a
 * multiple of `ALIGNMENT`, and so does the next chunk. A group is a panel, or one of each source of a matrix that
 * interleaves several (gate and up), which are needed together.
 */
import { panelBytes, panelCount } from "./panel.ts";
import type { StoredTensor } from "./types.ts";

/** Direct I/O wants its offsets and lengths to be multiples of the device's block; 4096 serves all. */
export const ALIGNMENT = 4096;
/** Long enough for a disk's full bandwidth, short enough that threads end a tensor together. */
export const CHUNK_BYTES = 1 << 20;

/** Panels of one tensor (or all values of one vector) inside a chunk. */
export interface ChunkPart {
  /** Index into the file's tensors. */
  readonly tensor: number;
  /** First panel, and how many; a vector counts as one. */
  readonly firstPanel: number;
  readonly panels: number;
  /** From the start of the chunk, a multiple of `ALIGNMENT`. */
  readonly offset: number;
  readonly bytes: number;
}

export interface Chunk {
  /** Length when not compressed, a multiple of `ALIGNMENT`. */
  readonly bytes: number;
  readonly parts: readonly ChunkPart[];
}

export function alignUp(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

type Layable = Pick<StoredTensor, "kind" | "rows" | "columns" | "dtype" | "sources">;

/** Panels that no chunk's end comes between. */
export function panelGroup(tensor: Layable): number {
  return tensor.kind === "vector" ? 1 : tensor.sources.length;
}

/** Panels of a stored matrix: those of its sources in turn (gate, up, gate, up, …); a vector counts as one. */
export function tensorPanels(tensor: Layable): number {
  if (tensor.kind === "vector") return 1;
  return tensor.sources.length * panelCount(tensor.rows / tensor.sources.length);
}

/** Bytes of one panel of a stored matrix, or of a whole vector (float32). */
export function tensorPanelBytes(tensor: Layable): number {
  return tensor.kind === "vector" ? tensor.columns * 4 : panelBytes(tensor.dtype, tensor.columns);
}

/** Chunks of a file that holds these tensors, in this order. */
export function layoutChunks(tensors: readonly Layable[]): Chunk[] {
  const chunks: Chunk[] = [];
  let parts: ChunkPart[] = [];
  let used = 0;
  const close = () => {
    if (used > 0) chunks.push({ bytes: used, parts });
    parts = [];
    used = 0;
  };
  for (const [index, tensor] of tensors.entries()) {
    const group = panelGroup(tensor);
    const groupSize = group * tensorPanelBytes(tensor);
    const panels = tensorPanels(tensor);
    for (let firstPanel = 0; firstPanel < panels; ) {
      if (used > 0 && used + groupSize > CHUNK_BYTES) close();
      const fitting = Math.max(1, Math.floor((CHUNK_BYTES - used) / groupSize));
      const taken = Math.min(fitting * group, panels - firstPanel);
      const bytes = (taken / group) * groupSize;
      parts.push({ tensor: index, firstPanel, panels: taken, offset: used, bytes });
      used = alignUp(used + bytes);
      firstPanel += taken;
    }
  }
  close();
  return chunks;
}
