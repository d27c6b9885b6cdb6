/**
 * Panels: how a matrix lies on disk and in memory.
 *
 * A panel is four neighbouring rows, interleaved, so that one pass over its bytes in a straight line computes
 * four dot products and every activation that is loaded serves four rows. The last panel of a matrix whose rows
 * do not divide by four is filled up with rows of zeros.
 *
 * f32   for each column: the four rows' values                        columns × 4 × 4 bytes
 * q8    for each block of 32 columns: eight quads of 16 bytes, one for each four columns (row 0's four int8,
 *       row 1's, row 2's, row 3's), then the four rows' float16 scales  columns / 32 × 136 bytes
 *
 * A q8 weight is int8 × scale of its block, as in ggml's Q8_0, so weights from Q8_0 are kept bit for bit. The scales
 * lie between the weights because processors fetch ahead for one stream of addresses: with scales of their own behind
 * each panel a product runs at half the speed.
 */
import type { Dtype } from "./types.ts";

export const PANEL_ROWS = 4;
/** Columns that share a scale in q8. */
export const BLOCK_COLUMNS = 32;
/** Bytes of a block of a q8 panel, and of its quads, which come first. */
export const Q8_BLOCK_BYTES = 136;
export const Q8_QUADS_BYTES = BLOCK_COLUMNS * PANEL_ROWS;
/** Bytes of 32 weights as ggml's Q8_0 holds them: float16 scale, 32 int8. */
const Q8_0_BYTES = 34;

export function panelBytes(dtype: Dtype, columns: number): number {
  if (dtype === "f32") return columns * PANEL_ROWS * 4;
  return (columns / BLOCK_COLUMNS) * Q8_BLOCK_BYTES;
}

export function panelCount(rows: number): number {
  return Math.ceil(rows / PANEL_ROWS);
}

/**
 * Interleave rows into f32 panels, bit by bit as they are.
 *
 * @param rows (count, columns) row-major
 * @param panels room for panelCount(count) panels; every value is written
 */
export function packPanelsF32(
  rows: Float32Array,
  count: number,
  columns: number,
  panels: Float32Array,
): void {
  // As integers, for a float that passes through a number may lose the payload of a NaN.
  const from = new Int32Array(rows.buffer, rows.byteOffset, count * columns);
  const to = new Int32Array(panels.buffer, panels.byteOffset, panelCount(count) * PANEL_ROWS * columns);
  const whole = count - (count % PANEL_ROWS);
  let next = 0;
  for (let row = 0; row < whole; row += PANEL_ROWS) {
    const a = row * columns;
    const b = a + columns;
    const c = b + columns;
    const d = c + columns;
    for (let column = 0; column < columns; column++) {
      to[next] = from[a + column];
      to[next + 1] = from[b + column];
      to[next + 2] = from[c + column];
      to[next + 3] = from[d + column];
      next += PANEL_ROWS;
    }
  }
  to.fill(0, next);
  for (let row = whole; row < count; row++) {
    for (let column = 0; column < columns; column++)
      to[next + column * PANEL_ROWS + (row - whole)] = from[row * columns + column];
  }
}

/**
 * Interleave rows of Q8_0 blocks into q8 panels; no weight changes.
 *
 * @param rows (count, columns / 32) blocks of 34 bytes as in ggml, row-major; 2-byte aligned
 * @param panels room for panelCount(count) panels, 4-byte aligned; every byte is written
 */
export function packPanelsQ8(rows: Uint8Array, count: number, columns: number, panels: Uint8Array): void {
  const blocks = columns / BLOCK_COLUMNS;
  const bytes = panelBytes("q8", columns);
  const all = panelCount(count) * bytes;
  // A block is a scale and 16 pairs of weights.
  const from = new Uint16Array(rows.buffer, rows.byteOffset, (count * blocks * Q8_0_BYTES) / 2);
  const quads = new Int32Array(panels.buffer, panels.byteOffset, all / 4);
  const scales = new Uint16Array(panels.buffer, panels.byteOffset, all / 2);
  if (count % PANEL_ROWS !== 0) panels.fill(0, all - bytes, all);
  let b = 0;
  for (let row = 0; row < count; row++) {
    const lane = row % PANEL_ROWS;
    const panel = ((row - lane) / PANEL_ROWS) * bytes;
    let quad = panel / 4 + lane;
    let scale = (panel + Q8_QUADS_BYTES) / 2 + lane;
    for (let block = 0; block < blocks; block++) {
      scales[scale] = from[b];
      quads[quad] = from[b + 1] | (from[b + 2] << 16);
      quads[quad + 4] = from[b + 3] | (from[b + 4] << 16);
      quads[quad + 8] = from[b + 5] | (from[b + 6] << 16);
      quads[quad + 12] = from[b + 7] | (from[b + 8] << 16);
      quads[quad + 16] = from[b + 9] | (from[b + 10] << 16);
      quads[quad + 20] = from[b + 11] | (from[b + 12] << 16);
      quads[quad + 24] = from[b + 13] | (from[b + 14] << 16);
      quads[quad + 28] = from[b + 15] | (from[b + 16] << 16);
      b += Q8_0_BYTES / 2;
      quad += Q8_BLOCK_BYTES / 4;
      scale += Q8_BLOCK_BYTES / 2;
    }
  }
}
