/**
 * Products with q8 panels: y = W x, with x as int16 (see q16.as.ts).
 *
 * A quad of a panel is four rows × four columns of int8. Widened to int16 and multiplied with four columns of x, it
 * gives two sums of two products for each row; over a block of 32 columns these add up in int32 without loss
 * (32 × 127 × 32767 < 2^27), and then take the scales of block and row.
 */
import { anyHalvesToFloats, areUsual, largerSteps, usualHalvesToFloats } from "./half.as";
import { BLOCK, Q8_BLOCK_BYTES, Q8_QUADS_BYTES, ROW_BLOCK } from "./layout.as";

/**
 * One row of x: as fast as the weights come from memory.
 *
 * @param q (columns) int16
 * @param scales (columns / 32, 2) as `quantizeRows` leaves them
 * @param y (4 × count)
 */
export function matvecQ8(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  const panelBytes = <usize>(columns / BLOCK) * Q8_BLOCK_BYTES;
  // Other scales are too rare to be looked for in each block; but where there is one, there are more.
  let usual = true;
  for (const end = panels + <usize>count * panelBytes; panels < end; panels += panelBytes, y += 16) {
    if (usual) usual = onePanelOneRow(false, panels, panelBytes, q, scales, y);
    if (!usual) onePanelOneRow(true, panels, panelBytes, q, scales, y);
  }
}

/**
 * Tiles of four rows of x.
 *
 * @param rows a multiple of four
 * @param y (rows, yStride)
 */
export function matmulQ8(
  panels: usize,
  count: i32,
  columns: i32,
  q: usize,
  scales: usize,
  rows: i32,
  y: usize,
  yStride: i32,
): void {
  const blocks = <usize>(columns / BLOCK);
  const panelBytes = blocks * Q8_BLOCK_BYTES;
  const yBytes = <usize>yStride * 4;
  for (let first = 0; first < rows; first += ROW_BLOCK) {
    const end = min(first + ROW_BLOCK, rows);
    for (let panel = 0; panel < count; panel++) {
      const w = panels + <usize>panel * panelBytes;
      const usual = hasUsualScales(w, panelBytes);
      for (let row = first; row < end; row += 4) {
        const from = q + <usize>row * <usize>columns * 2;
        const rowScales = scales + <usize>row * blocks * 8;
        const to = y + <usize>panel * 16 + <usize>row * yBytes;
        if (usual) onePanelFourRows(false, w, panelBytes, from, rowScales, to, yBytes);
        else onePanelFourRows(true, w, panelBytes, from, rowScales, to, yBytes);
      }
    }
  }
}

/** Add up the pairs: one float32 for each of the four rows. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function sumPairs(a: v128, b: v128): v128 {
  const even = v128.shuffle<i32>(a, b, 0, 2, 4, 6);
  const odd = v128.shuffle<i32>(a, b, 1, 3, 5, 7);
  return f32x4.convert_i32x4_s(i32x4.add(even, odd));
}

/**
 * Returns whether all scales are positive and normal, as nearly all are; without that the result is right only with
 * `anyScales`.
 *
 * Two quads at a time, not all eight: then everything stays in registers.
 */
// @ts-expect-error: decorators of AssemblyScript
@inline
function onePanelOneRow(
  anyScales: bool,
  w: usize,
  panelBytes: usize,
  q: usize,
  scales: usize,
  y: usize,
): bool {
  let sum = f32x4.splat(0);
  let largest = sum;
  for (const end = w + panelBytes; w < end; ) {
    let a = i32x4.splat(0);
    let b = a;
    for (const quads = w + Q8_QUADS_BYTES; w < quads; w += 32, q += 16) {
      let x = v128.load64_splat(q);
      a = i32x4.add(a, i32x4.dot_i16x8_s(v128.load8x8_s(w), x));
      b = i32x4.add(b, i32x4.dot_i16x8_s(v128.load8x8_s(w, 8), x));
      x = v128.load64_splat(q + 8);
      a = i32x4.add(a, i32x4.dot_i16x8_s(v128.load8x8_s(w + 16), x));
      b = i32x4.add(b, i32x4.dot_i16x8_s(v128.load8x8_s(w + 16, 8), x));
    }
    const halves = v128.load64_zero(w);
    largest = largerSteps(largest, halves);
    const scale = anyScales ? anyHalvesToFloats(halves) : usualHalvesToFloats(halves);
    sum = f32x4.add(sum, f32x4.mul(sumPairs(a, b), f32x4.mul(scale, v128.load32_splat(scales))));
    w += Q8_BLOCK_BYTES - Q8_QUADS_BYTES;
    scales += 8;
  }
  v128.store(y, sum);
  return areUsual(largest);
}

/** Whether all scales of a panel are positive and normal. */
export function hasUsualScales(w: usize, panelBytes: usize): bool {
  let largest = i16x8.splat(0);
  for (const end = w + panelBytes; w < end; w += Q8_BLOCK_BYTES)
    largest = largerSteps(largest, v128.load64_zero(w, Q8_QUADS_BYTES));
  return areUsual(largest);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function onePanelFourRows(
  anyScales: bool,
  w: usize,
  panelBytes: usize,
  q: usize,
  scales: usize,
  y: usize,
  yBytes: usize,
): void {
  let sum0 = f32x4.splat(0);
  let sum1 = sum0;
  let sum2 = sum0;
  let sum3 = sum0;
  for (const end = w + panelBytes; w < end; ) {
    let a0 = i32x4.splat(0);
    let a1 = a0;
    let a2 = a0;
    let a3 = a0;
    let b0 = a0;
    let b1 = a0;
    let b2 = a0;
    let b3 = a0;
    for (const quads = w + Q8_QUADS_BYTES; w < quads; w += 16, q += 32) {
      const upper = v128.load8x8_s(w);
      const lower = v128.load8x8_s(w, 8);
      let x = v128.load64_splat(q);
      a0 = i32x4.add(a0, i32x4.dot_i16x8_s(upper, x));
      b0 = i32x4.add(b0, i32x4.dot_i16x8_s(lower, x));
      x = v128.load64_splat(q, 8);
      a1 = i32x4.add(a1, i32x4.dot_i16x8_s(upper, x));
      b1 = i32x4.add(b1, i32x4.dot_i16x8_s(lower, x));
      x = v128.load64_splat(q, 16);
      a2 = i32x4.add(a2, i32x4.dot_i16x8_s(upper, x));
      b2 = i32x4.add(b2, i32x4.dot_i16x8_s(lower, x));
      x = v128.load64_splat(q, 24);
      a3 = i32x4.add(a3, i32x4.dot_i16x8_s(upper, x));
      b3 = i32x4.add(b3, i32x4.dot_i16x8_s(lower, x));
    }
    const halves = v128.load64_zero(w);
    const scale = anyScales ? anyHalvesToFloats(halves) : usualHalvesToFloats(halves);
    sum0 = f32x4.add(sum0, f32x4.mul(sumPairs(a0, b0), f32x4.mul(scale, v128.load32_splat(scales))));
    sum1 = f32x4.add(sum1, f32x4.mul(sumPairs(a1, b1), f32x4.mul(scale, v128.load32_splat(scales, 4))));
    sum2 = f32x4.add(sum2, f32x4.mul(sumPairs(a2, b2), f32x4.mul(scale, v128.load32_splat(scales, 8))));
    sum3 = f32x4.add(sum3, f32x4.mul(sumPairs(a3, b3), f32x4.mul(scale, v128.load32_splat(scales, 12))));
    w += 8;
    scales += 32;
  }
  v128.store(y, sum0);
  v128.store(y + yBytes, sum1);
  v128.store(y + 2 * yBytes, sum2);
  v128.store(y + 3 * yBytes, sum3);
}
