/** The weight files that a model becomes. */
import type { ModelPlan, TensorPlan } from "../model/types.ts";
import { weightFiles } from "../store/cache.ts";
import { type Chunk, layoutChunks } from "../store/layout.ts";
import { EMBEDDING, layerFileName, OUTPUT } from "../store/names.ts";
import type { Dtype, Manifest, StoredTensor } from "../store/types.ts";
import { tensorDtype } from "./tensor-dtype.ts";

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
  const tensors = plans.map((tensor) => ({ ...tensor, dtype: tensorDtype(tensor, dtype) }));
  const chunks = layoutChunks(tensors);
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
  return { name, tensors, chunks, bytes, compressible: name !== EMBEDDING };
}

/** Bytes that the weight files of an unpacked model would take in another dtype, without compression. */
export function weightBytesAs(manifest: Manifest, dtype: Dtype): number {
  const chunks = weightFiles(manifest).flatMap(({ tensors }) =>
    layoutChunks(tensors.map((tensor) => ({ ...tensor, dtype: tensorDtype(tensor, dtype) }))),
  );
  return chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
}
