/**
 * Products with q4 panels: y = W x, with x as int16 (see q16.as.ts).
 *
 * A vector of a block has two quads of four rows × four columns in the low and the high halves of its bytes. Widened to
 * int16 and shifted down, each is multiplied with four columns of x as in matmul-q8.as.ts.
 */
import { anyHalvesToFloats, areUsual, halvesToFloats, largerSteps } from "./half.as";
import { BLOCK, Q4_BLOCK_BYTES, Q4_WEIGHTS_BYTES, ROW_BLOCK } from "./layout.as";
import { sumPairs } from "./matmul-q8.as";

/**
 * One row of x.
 *
 * @param q (columns) int16
 * @param scales (columns / 32, 2) as `quantizeRows` leaves them
 * @param y (4 × count)
 */
export function matvecQ4(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  const panelBytes = <usize>(columns / BLOCK) * Q4_BLOCK_BYTES;
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
export function matmulQ4(
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
  const panelBytes = blocks * Q4_BLOCK_BYTES;
  const yBytes = <usize>yStride * 4;
  for (let first = 0; first < rows; first += ROW_BLOCK) {
    const end = min(first + ROW_BLOCK, rows);
    for (let panel = 0; panel < count; panel++) {
      const w = panels + <usize>panel * panelBytes;
      for (let row = first; row < end; row += 4)
        onePanelFourRows(
          w,
          panelBytes,
          q + <usize>row * <usize>columns * 2,
          scales + <usize>row * blocks * 8,
          y + <usize>panel * 16 + <usize>row * yBytes,
          yBytes,
        );
    }
  }
}

/** sum + products of two rows of a quad, (2, 4) int16, with four columns of x twice over. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function dot(sum: v128, w: v128, x: v128): v128 {
  return i32x4.add(sum, i32x4.dot_i16x8_s(w, x));
}

/** The low halves of bytes that were widened. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function low(pairs: v128): v128 {
  return i16x8.shr_s(i16x8.shl(pairs, 12), 12);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function high(pairs: v128): v128 {
  return i16x8.shr_s(pairs, 4);
}

/** Returns whether all scales are normal, without which it is slow, and right only with `anyScales`. */
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
    for (const weights = w + Q4_WEIGHTS_BYTES; w < weights; w += 16, q += 8) {
      const upper = v128.load8x8_s(w);
      const lower = v128.load8x8_s(w, 8);
      let x = v128.load64_splat(q);
      a = dot(a, low(upper), x);
      b = dot(b, low(lower), x);
      x = v128.load64_splat(q, 32);
      a = dot(a, high(upper), x);
      b = dot(b, high(lower), x);
    }
    const halves = v128.load64_zero(w);
    largest = largerSteps(largest, v128.and(halves, i16x8.splat(0x7fff)));
    const scale = anyScales ? anyHalvesToFloats(halves) : halvesToFloats(halves);
    sum = f32x4.add(sum, f32x4.mul(sumPairs(a, b), f32x4.mul(scale, v128.load32_splat(scales))));
    w += Q4_BLOCK_BYTES - Q4_WEIGHTS_BYTES;
    q += 32;
    scales += 8;
  }
  v128.store(y, sum);
  return areUsual(largest);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function onePanelFourRows(w: usize, panelBytes: usize, q: usize, scales: usize, y: usize, yBytes: usize): void {
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
    for (const weights = w + Q4_WEIGHTS_BYTES; w < weights; w += 16, q += 32) {
      const upper = v128.load8x8_s(w);
      const lower = v128.load8x8_s(w, 8);
      let a = low(upper);
      let b = low(lower);
      let x = v128.load64_splat(q);
      a0 = dot(a0, a, x);
      b0 = dot(b0, b, x);
      x = v128.load64_splat(q, 8);
      a1 = dot(a1, a, x);
      b1 = dot(b1, b, x);
      x = v128.load64_splat(q, 16);
      a2 = dot(a2, a, x);
      b2 = dot(b2, b, x);
      x = v128.load64_splat(q, 24);
      a3 = dot(a3, a, x);
      b3 = dot(b3, b, x);
      a = high(upper);
      b = high(lower);
      x = v128.load64_splat(q, 128);
      a0 = dot(a0, a, x);
      b0 = dot(b0, b, x);
      x = v128.load64_splat(q, 136);
      a1 = dot(a1, a, x);
      b1 = dot(b1, b, x);
      x = v128.load64_splat(q, 144);
      a2 = dot(a2, a, x);
      b2 = dot(b2, b, x);
      x = v128.load64_splat(q, 152);
      a3 = dot(a3, a, x);
      b3 = dot(b3, b, x);
    }
    const scale = anyHalvesToFloats(v128.load64_zero(w));
    sum0 = f32x4.add(sum0, f32x4.mul(sumPairs(a0, b0), f32x4.mul(scale, v128.load32_splat(scales))));
    sum1 = f32x4.add(sum1, f32x4.mul(sumPairs(a1, b1), f32x4.mul(scale, v128.load32_splat(scales, 4))));
    sum2 = f32x4.add(sum2, f32x4.mul(sumPairs(a2, b2), f32x4.mul(scale, v128.load32_splat(scales, 8))));
    sum3 = f32x4.add(sum3, f32x4.mul(sumPairs(a3, b3), f32x4.mul(scale, v128.load32_splat(scales, 12))));
    w += Q4_BLOCK_BYTES - Q4_WEIGHTS_BYTES;
    q += 128;
    scales += 32;
  }
  v128.store(y, sum0);
  v128.store(y + yBytes, sum1);
  v128.store(y + 2 * yBytes, sum2);
  v128.store(y + 3 * yBytes, sum3);
}
