/**
 * Panels of ggml's types of 4 to 6 bits, bit for bit: the same bytes as four rows take in the model file, arranged for
 * the kernels. A stretch of columns (32, or 256 where scales have scales of their own) is
 *
 * head     256 columns only. The four rows' float16 scales d; their float16 minimums of q4_K and q5_K; then the scales
 *          of groups of 32 columns (of 16 for q6_K), of all four rows each:
 *          q4_K, q5_K   for each two groups 12 bytes: s, t, s, t of 6 bits. Byte k of the four rows follow each other;
 *                       bytes 0 to 2 have the first three numbers in their low six bits, and in their high two those of
 *                       the fourth, the lowest first
 *          iq4_xs       the same for each four groups, s of each
 *          q6_K         for each 16 columns an int8
 * groups   of 32 columns, `GROUP_BYTES` each: four vectors of 16 bytes with the low four bits, as in q4. Then, of five
 *          bits, a vector whose byte j has in bit v the fifth bit of byte j of quad v; of six bits two vectors, the
 *          first for quads 0 to 3, whose byte j has in bits 2v and 2v + 1 the upper bits of byte j of quad v
 * tail     32 columns only. The four rows' float16 scales (bytes, of mxfp4), then their float16 minimums
 *
 * ggml's own layouts are told in src/quant.
 */
import type { PackedDtype } from "./types.ts";

export interface PackedFormat {
  /** Of a stretch. */
  readonly columns: 32 | 256;
  /** Bytes of a stretch of four rows. */
  readonly bytes: number;
  /** Where its groups begin. */
  readonly head: number;
  /** Bytes of a group: 64 of low bits, and those of the upper bits. */
  readonly groupBytes: number;
}

/** In the order of the kernels' numbers: see src/kernels/wasm/packed.as.ts. */
export const PACKED_DTYPES: readonly PackedDtype[] = [
  "q4_1",
  "q5_0",
  "q5_1",
  "iq4_nl",
  "mxfp4",
  "q4_K",
  "q5_K",
  "q6_K",
  "iq4_xs",
];

export const PACKED_FORMATS: Readonly<Record<PackedDtype, PackedFormat>> = {
  q4_1: { columns: 32, bytes: 80, head: 0, groupBytes: 64 },
  q5_0: { columns: 32, bytes: 88, head: 0, groupBytes: 80 },
  q5_1: { columns: 32, bytes: 96, head: 0, groupBytes: 80 },
  iq4_nl: { columns: 32, bytes: 72, head: 0, groupBytes: 64 },
  mxfp4: { columns: 32, bytes: 68, head: 0, groupBytes: 64 },
  q4_K: { columns: 256, bytes: 576, head: 64, groupBytes: 64 },
  q5_K: { columns: 256, bytes: 704, head: 64, groupBytes: 80 },
  q6_K: { columns: 256, bytes: 840, head: 72, groupBytes: 96 },
  iq4_xs: { columns: 256, bytes: 544, head: 32, groupBytes: 64 },
};

export function isPacked(dtype: string): dtype is PackedDtype {
  return Object.hasOwn(PACKED_FORMATS, dtype);
}

/** Bytes that a panel of so many columns is unfolded in, for many rows: see src/kernels/wasm/matmul-packed.as.ts. */
export function packedScratchBytes(columns: number): number {
  return Math.ceil(columns / 32) * 176;
}
