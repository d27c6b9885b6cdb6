/**
 * Panels: how a matrix lies on disk and in memory.
 *
 * A panel is four neighbouring rows, interleaved, so that one pass over its bytes in a straight line computes
 * four dot products and every activation that is loaded serves four rows. The last panel of a matrix whose rows
 * do not divide by four is filled up with rows of zeros.
 *
 * f32   for each column: the four rows' values                        columns × 4 × 4 bytes
 * q8    for each four columns a quad of 16 bytes: row 0's four int8, row 1's, row 2's, row 3's;
 *       after all quads, for each block of 32 columns: the four rows' float16 scales
 *                                                                     columns × 4 + columns / 32 × 8 bytes
 *
 * A q8 weight is int8 × scale of its block, as in ggml's Q8_0, so weights from Q8_0 are kept bit for bit.
 */
import type { Dtype } from "./types.ts";

export const PANEL_ROWS = 4;
/** Columns that share a scale in q8. */
export const BLOCK_COLUMNS = 32;
/** Bytes of 32 weights as ggml's Q8_0 holds them: float16 scale, 32 int8. */
const Q8_0_BYTES = 34;

export function panelBytes(dtype: Dtype, columns: number): number {
  if (dtype === "f32") return columns * PANEL_ROWS * 4;
  return columns * PANEL_ROWS + (columns / BLOCK_COLUMNS) * PANEL_ROWS * 2;
}

export function panelCount(rows: number): number {
  return Math.ceil(rows / PANEL_ROWS);
}

/**
 * Interleave rows into f32 panels.
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
  panels.fill(0, 0, panelCount(count) * PANEL_ROWS * columns);
  for (let row = 0; row < count; row++) {
    const from = row * columns;
    const to = (row - (row % PANEL_ROWS)) * columns + (row % PANEL_ROWS);
    for (let column = 0; column < columns; column++) panels[to + column * PANEL_ROWS] = rows[from + column];
  }
}

/**
 * Interleave rows of Q8_0 blocks into q8 panels; no weight changes.
 *
 * @param rows (count, columns / 32) blocks of 34 bytes as in ggml, row-major
 * @param panels room for panelCount(count) panels; every byte is written
 */
export function packPanelsQ8(rows: Uint8Array, count: number, columns: number, panels: Uint8Array): void {
  const blocks = columns / BLOCK_COLUMNS;
  const bytes = panelBytes("q8", columns);
  panels.fill(0, 0, panelCount(count) * bytes);
  for (let row = 0; row < count; row++) {
    const lane = row % PANEL_ROWS;
    const panel = ((row - lane) / PANEL_ROWS) * bytes;
    const scales = panel + columns * PANEL_ROWS;
    let from = row * blocks * Q8_0_BYTES;
    for (let block = 0; block < blocks; block++) {
      const scale = scales + (block * PANEL_ROWS + lane) * 2;
      panels[scale] = rows[from];
      panels[scale + 1] = rows[from + 1];
      from += 2;
      let to = panel + block * BLOCK_COLUMNS * PANEL_ROWS + lane * 4;
      for (let quad = 0; quad < 8; quad++) {
        panels[to] = rows[from];
        panels[to + 1] = rows[from + 1];
        panels[to + 2] = rows[from + 2];
        panels[to + 3] = rows[from + 3];
        to += 16;
        from += 4;
      }
    }
  }
}
