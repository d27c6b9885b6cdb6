/**
 * How the keys and values of a layer lie in a block of positions: first the keys of each head, then the values of each.
 *
 * Of a head in f32 and f16: (positions, headSize).
 *
 * In q8: int8 and, behind all of them, scales: a float16 for 32 columns of a position. There is room for a multiple of
 * eight columns, and the last scale may stand for less than 32.
 *
 * | | int8 | scales |
 * | --- | --- | --- |
 * | keys | (positions / 4, columns / 4, 4 positions, 4 columns) | (positions / 4, columns / 32, 4 positions) |
 * | values | (positions / 2, columns, 2 positions) | (columns / 32, positions) |
 */
import type { AttentionShape, KvType } from "./types.ts";

/** All of them. */
export const KV_TYPES = ["f32", "f16", "q8"] as const satisfies readonly KvType[];
/** Columns that share a scale in q8. */
export const SCALE_COLUMNS = 32;

/** Bytes of one head's keys (or values) for so many positions. */
export function headBytes(type: KvType, headSize: number, positions: number): number {
  if (type === "f32") return positions * headSize * 4;
  if (type === "f16") return positions * headSize * 2;
  return positions * (paddedColumns(headSize) + 2 * Math.ceil(headSize / SCALE_COLUMNS));
}

/** Columns of a head that there is room for in q8. */
export function paddedColumns(headSize: number): number {
  return Math.ceil(headSize / 8) * 8;
}

/** Where a head's keys begin in a block. */
export function keyOffset(
  { layerOffset, kvType, headSize, blockPositions }: AttentionShape,
  kvHead: number,
): number {
  return layerOffset + kvHead * headBytes(kvType, headSize, blockPositions);
}

/** Bytes from a head's keys to its values. */
export function valueDistance({ kvHeads, kvType, headSize, blockPositions }: AttentionShape): number {
  return kvHeads * headBytes(kvType, headSize, blockPositions);
}

/** Where key and value of a position and column lie in q8, and their scales, from where those of their head begin. */
export function q8Places(
  { headSize, blockPositions }: Pick<AttentionShape, "headSize" | "blockPositions">,
  within: number,
  column: number,
): { key: number; keyScale: number; value: number; valueScale: number } {
  const columns = paddedColumns(headSize);
  const groups = Math.ceil(headSize / SCALE_COLUMNS);
  const group = Math.floor(column / SCALE_COLUMNS);
  const [four, two] = [within % 4, within % 2];
  const scales = blockPositions * columns;
  return {
    key: (within - four) * columns + (column - (column % 4)) * 4 + four * 4 + (column % 4),
    keyScale: scales + 2 * ((within - four) * groups + group * 4 + four),
    value: (within - two) * columns + column * 2 + two,
    valueScale: scales + 2 * (group * blockPositions + within),
  };
}

/** Bytes that `Kernels.attention` works in: queries and sums of four heads, scores of a block twice. */
export function attentionScratchBytes(headSize: number, blockPositions: number): number {
  return 2 * 16 * paddedColumns(headSize) + 2 * 16 * blockPositions;
}
