/** The weight files that a model becomes. */
import type { ModelPlan, TensorPlan } from "../model/types.ts";
import { weightFiles } from "../store/cache.ts";
import { type Chunk, layoutChunks } from "../store/layout.ts";
import { EMBEDDING, layerFileName, OUTPUT } from "../store/names.ts";
import { BLOCK_COLUMNS } from "../store/panel.ts";
import type { Dtype, Manifest, StoredTensor } from "../store/types.ts";

export interface PlannedFile {
  readonly name: string;
  readonly tensors: readonly StoredTensor[];
  readonly chunks: readonly Chunk[];
  /** Bytes before compression. */
  readonly bytes: number;
  /** Whether its chunks may be compressed; the embedding's may not, for it is read by row. */
  readonly compressible: boolean;
}

/** The weight files of a model in this dtype, in the order of use. */
export function planFiles(plan: ModelPlan, dtype: Dtype): PlannedFile[] {
  return [
    planFile(EMBEDDING, [plan.embedding], dtype),
    ...plan.layers.map((tensors, layer) => planFile(layerFileName(layer), tensors, dtype)),
    planFile(OUTPUT, plan.output, dtype),
  ];
}

function planFile(name: string, plans: readonly TensorPlan[], dtype: Dtype): PlannedFile {
  const tensors = plans.map((tensor) => ({ ...tensor, dtype: storedDtype(tensor, dtype) }));
  const chunks = layoutChunks(tensors);
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
  return { name, tensors, chunks, bytes, compressible: name !== EMBEDDING };
}

/** Vectors, and matrices whose rows are no whole blocks of 32, are float32 in every cache. */
function storedDtype({ kind, columns }: Pick<StoredTensor, "kind" | "columns">, dtype: Dtype): Dtype {
  return kind === "matrix" && columns % BLOCK_COLUMNS === 0 ? dtype : "f32";
}

/** Bytes that the weight files of an unpacked model would take in another dtype, without compression. */
export function weightBytesAs(manifest: Manifest, dtype: Dtype): number {
  const chunks = weightFiles(manifest).flatMap(({ tensors }) =>
    layoutChunks(tensors.map((tensor) => ({ ...tensor, dtype: storedDtype(tensor, dtype) }))),
  );
  return chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
}
