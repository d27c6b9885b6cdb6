/** What becomes of each tensor of a model in the dtype that was asked for. */
import { weightFiles } from "../store/cache.ts";
import { PACKED_DTYPES } from "../store/packed-panel.ts";
import { columnsUnit } from "../store/panel.ts";
import { DTYPES, type Dtype, type Manifest, type StoredTensor, type TensorDtype } from "../store/types.ts";

/** Types of model files whose weights a cache can hold as they are. */
const NATIVE: Readonly<Record<string, TensorDtype>> = {
  f32: "f32",
  f16: "f16",
  bf16: "bf16",
  q8_0: "q8",
  q4_0: "q4",
  ...Object.fromEntries(PACKED_DTYPES.map((dtype) => [dtype, dtype])),
};

/**
 * The dtype that a tensor is stored in. Vectors are always f32, and so are matrices that should be quantized but whose
 * rows are no whole blocks. `native` keeps the weights of the file; where there is no form for them, or the sources of
 * a tensor differ, it is q8.
 */
export function tensorDtype(
  { kind, columns, sourceTypes }: Pick<StoredTensor, "kind" | "columns" | "sourceTypes">,
  dtype: Dtype,
): TensorDtype {
  if (kind === "vector") return "f32";
  const wanted = dtype === "native" ? nativeDtype(sourceTypes) : dtype;
  return columns % columnsUnit(wanted) !== 0 ? "f32" : wanted;
}

function nativeDtype(sourceTypes: readonly string[]): TensorDtype {
  const same = sourceTypes.every((type) => type === sourceTypes[0]);
  return (same && NATIVE[sourceTypes[0]]) || "q8";
}

/** Whether a stored tensor has its source's weights, bit for bit: float32 holds every type of a model file. */
export function keepsWeights({ dtype, sourceTypes }: Pick<StoredTensor, "dtype" | "sourceTypes">): boolean {
  return dtype === "f32" || sourceTypes.every((type) => NATIVE[type] === dtype);
}

/** Matrices of a native cache whose weights are rounded to q8 all the same: how many of each type of the model file. */
export function reencodedTypes(manifest: Manifest): Map<string, number> {
  const counts = new Map<string, number>();
  if (manifest.dtype !== "native") return counts;
  for (const { dtype, sourceTypes } of weightFiles(manifest).flatMap(({ tensors }) => tensors)) {
    if (dtype !== "q8") continue;
    for (const type of sourceTypes) if (type !== "q8_0") counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return counts;
}

/** The dtype that makes of these tensors the same as `native`, and says what it is; `native` where there is none. */
export function nativeName(
  tensors: readonly Pick<StoredTensor, "kind" | "columns" | "sourceTypes">[],
): Dtype {
  const made = (dtype: Dtype) => tensors.map((tensor) => tensorDtype(tensor, dtype)).join();
  const native = made("native");
  return DTYPES.find((dtype) => dtype !== "native" && made(dtype) === native) ?? "native";
}

/**
 * Dtypes in which a model takes fewer bytes than in this one, but for those that a more exact one takes no more than.
 *
 * @param bytesAs bytes of the model in each dtype
 * @param native what `native` is called: see `nativeName`
 */
export function smallerDtypes(
  dtype: Dtype,
  bytesAs: (dtype: Dtype) => number,
  native: Dtype = "native",
): Map<Dtype, number> {
  const smaller = new Map<Dtype, number>();
  let least = bytesAs(dtype);
  // The most exact first.
  for (const other of DTYPES) {
    const bytes = bytesAs(other);
    if (bytes >= least) continue;
    smaller.set(other === "native" ? native : other, bytes);
    least = bytes;
  }
  return smaller;
}
