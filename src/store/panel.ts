/**
 * Panels: how a matrix lies on disk and in memory.
 *
 * A panel is four neighbouring rows, interleaved, so that one pass over its bytes in a straight line computes
 * four dot products and every activation that is loaded serves four rows. The last panel of a matrix whose rows
 * do not divide by four is filled up with rows of zeros.
 *
 * f32         for each column: the four rows' values                        columns × 4 × 4 bytes
 * f16, bf16   the same with values of 16 bits                               columns × 4 × 2 bytes
 * q8          for each block of 32 columns: eight quads of 16 bytes, one for each four columns (row 0's four int8,
 *             row 1's, row 2's, row 3's), then the four rows' float16 scales  columns / 32 × 136 bytes
 * q4          the same with weights of 4 bits: four vectors of 16 bytes, byte j of vector v with byte j of quad v in
 *             its low half and byte j of quad v + 4 in its high half; then the scales  columns / 32 × 72 bytes
 *
 * q2, q3     see low-panel.ts
 *
 * q4_1, q5_0, q5_1, q4_K, q5_K, q6_K, iq4_nl, iq4_xs, mxfp4   as many bytes as in ggml, see packed-panel.ts
 *
 * A q8 weight is int8 × scale of its block, a q4 weight int4 (two's complement) × scale: weights from ggml's Q8_0 and
 * Q4_0 are kept bit for bit. The scales lie between the weights because processors fetch ahead for one stream of
 * addresses: with scales of their own behind each panel a product runs at half the speed.
 */
import { isPacked, PACKED_FORMATS } from "./packed-panel.ts";
import type { LowDtype, QuantizedDtype, TensorDtype } from "./types.ts";

export const PANEL_ROWS = 4;
/** Columns that share a scale in q8, q4, q3 and q2. */
export const BLOCK_COLUMNS = 32;
/** Bytes of the weights of a block, in vectors of 16 bytes; the scales follow. */
export const WEIGHTS_BYTES = { q8: 128, q4: 64, q3: 48, q2: 32 } as const;
/** Bytes of a block. */
export const BLOCK_BYTES = { q8: 136, q4: 72, q3: 56, q2: 40 } as const;

/** Whether weights are integers with a scale for a block, which takes columns that divide into blocks. */
export function isQuantized(dtype: string): dtype is QuantizedDtype {
  return dtype === "q8" || dtype === "q4" || isLow(dtype) || isPacked(dtype);
}

export function isLow(dtype: string): dtype is LowDtype {
  return dtype === "q3" || dtype === "q2";
}

/** What the columns of a matrix have to divide by. */
export function columnsUnit(dtype: TensorDtype): number {
  if (isPacked(dtype)) return PACKED_FORMATS[dtype].columns;
  return isQuantized(dtype) ? BLOCK_COLUMNS : 1;
}

export function panelBytes(dtype: TensorDtype, columns: number): number {
  if (isPacked(dtype)) return (columns / PACKED_FORMATS[dtype].columns) * PACKED_FORMATS[dtype].bytes;
  if (isQuantized(dtype)) return (columns / BLOCK_COLUMNS) * BLOCK_BYTES[dtype];
  return columns * PANEL_ROWS * (dtype === "f32" ? 4 : 2);
}

export function panelCount(rows: number): number {
  return Math.ceil(rows / PANEL_ROWS);
}
