/** What a model takes in each dtype: known from its shapes alone. */
import { BLOCK_POSITIONS, kvBlockBytes } from "../engine/kv-block.ts";
import type { KvType } from "../kernels/types.ts";
import type { Hyperparameters, ModelPlan } from "../model/types.ts";
import { DTYPES, type Dtype } from "../store/types.ts";
import { ringBytes } from "../stream/ring.ts";
import { type PlannedFile, planFiles } from "../unpack/planned-file.ts";
import { keepsWeights, nativeName } from "../unpack/tensor-dtype.ts";
import type { Subject } from "./subject.ts";

/** Context that is planned for where none is asked for, and the model's own is no shorter. */
const CONTEXT = 4096;

export interface DtypeNeeds {
  readonly dtype: Dtype;
  /** Bytes of the cache's files, and of the weights that a sweep goes through. */
  readonly bytes: number;
  readonly sweepBytes: number;
  /** Whether every weight of the model file is kept as it is. */
  readonly exact: boolean;
  /** Types of the model file whose weights are rounded. */
  readonly rounded: readonly string[];
  readonly ringBytes: number;
  readonly kvType: KvType;
  readonly files: readonly PlannedFile[];
}

export function needsOf(
  { plan, tokenizerBytes }: Pick<Subject, "plan" | "tokenizerBytes">,
  dtype: Dtype,
): DtypeNeeds {
  const files = planFiles(plan, dtype);
  const swept = [...files.slice(1), ...(plan.model.tiedOutput ? [files[0]] : [])];
  const chunks = swept.flatMap(({ chunks }) => chunks);
  const changed = files.flatMap(({ tensors }) => tensors.filter((tensor) => !keepsWeights(tensor)));
  return {
    dtype,
    bytes: files.reduce((sum, file) => sum + file.bytes, tokenizerBytes),
    sweepBytes: swept.reduce((sum, file) => sum + file.bytes, 0),
    exact: changed.length === 0,
    rounded: [...new Set(changed.flatMap(({ sourceTypes }) => sourceTypes))],
    ringBytes: ringBytes({ slotBytes: Math.max(...chunks.map(({ bytes }) => bytes)) }),
    kvType: kvTypeOf(dtype),
    files,
  };
}

/** The exact dtype of fewest bytes. */
export function recommend(dtypes: readonly Pick<DtypeNeeds, "dtype" | "exact" | "bytes">[]): Dtype {
  return dtypes.filter(({ exact }) => exact).sort((a, b) => a.bytes - b.bytes)[0].dtype;
}

/** As the engine chooses it. */
export function kvTypeOf(dtype: Dtype): KvType {
  return dtype === "f32" ? "f32" : "f16";
}

/** Bytes of KV cache for one position. */
export function kvBytes(model: Hyperparameters, type: KvType): number {
  return kvBlockBytes(model, type) / BLOCK_POSITIONS;
}

export function usualContext({ contextLength }: Hyperparameters): number {
  return Math.min(CONTEXT, contextLength || CONTEXT);
}

/** All dtypes, but for `native` where it comes to the same as one that says what it is. */
export function usefulDtypes({ embedding, layers, output }: ModelPlan): readonly Dtype[] {
  const named = nativeName([embedding, ...layers.flat(), ...output]) !== "native";
  return DTYPES.filter((dtype) => !(named && dtype === "native"));
}

/** Weights of a model, a tied output counted once. */
export function countParameters({ embedding, layers, output }: ModelPlan): number {
  const tensors = [embedding, ...layers.flat(), ...output];
  return tensors.reduce((sum, { rows, columns }) => sum + rows * columns, 0);
}
