/**
 * As matvec-packed.as.ts, with relaxed SIMD, for dtypes whose codes are numbers: most of twice as fast.
 *
 * The dot product of bytes takes one signed operand and one of seven bits, and is exact for these on every processor. So
 * codes stay the bytes that they are, and x, an int16, is two of them: 256 × upper + lower. What codes count from is
 * taken off the sums. The sums are the same integers as those of the other kernel.
 */
import { anyHalvesToFloats } from "./half.as";
import { BLOCK } from "./layout.as";
import {
  center,
  codes,
  hasMinimum,
  nextQuad,
  Packed,
  packedPanelBytes,
  Q4_1,
  Q4_K,
  Q5_0,
  Q5_1,
  Q5_K,
  Q6_K,
  sixBits,
  tailBytes,
  tailScale,
  upperBits,
  upperBytes,
} from "./packed.as";

/** Bytes of 32 columns of x: for each four their upper bytes and their lower ones; then the sums of both halves, int32. */
const X_BLOCK: usize = 72;

/** One row of `Kernels.matmulPacked`; x is taken apart in `scratch`. */
export function matvecQ4_1(w: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize, scratch: usize): void {
  multiply(Q4_1, w, count, columns, q, scales, y, scratch);
}

export function matvecQ5_0(w: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize, scratch: usize): void {
  multiply(Q5_0, w, count, columns, q, scales, y, scratch);
}

export function matvecQ5_1(w: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize, scratch: usize): void {
  multiply(Q5_1, w, count, columns, q, scales, y, scratch);
}

export function matvecQ4_K(w: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize, scratch: usize): void {
  multiply(Q4_K, w, count, columns, q, scales, y, scratch);
}

export function matvecQ5_K(w: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize, scratch: usize): void {
  multiply(Q5_K, w, count, columns, q, scales, y, scratch);
}

export function matvecQ6_K(w: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize, scratch: usize): void {
  multiply(Q6_K, w, count, columns, q, scales, y, scratch);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function multiply(
  type: Packed,
  panels: usize,
  count: i32,
  columns: i32,
  q: usize,
  scales: usize,
  y: usize,
  x: usize,
): void {
  takeApart(q, columns, x);
  const panelBytes = packedPanelBytes(type, columns);
  for (const end = panels + <usize>count * panelBytes; panels < end; panels += panelBytes, y += 16) {
    if (type === Q4_K || type === Q5_K) kPanel(type, panels, panelBytes, x, scales, y);
    else if (type === Q6_K) q6Panel(panels, panelBytes, x, scales, y);
    else plainPanel(type, panels, panelBytes, x, scales, y);
  }
}

function takeApart(q: usize, columns: i32, to: usize): void {
  const ones = i16x8.splat(1);
  for (const end = q + <usize>columns * 2; q < end; to += X_BLOCK - 64) {
    let first = i32x4.splat(0);
    let second = first;
    for (let i = 0; i < BLOCK; i += 8, q += 16, to += 16) {
      const x = v128.load(q);
      const lower = i16x8.shr_s(i16x8.shl(x, 8), 8);
      const upper = i16x8.shr_s(i16x8.sub(x, lower), 8);
      const bytes = i8x16.narrow_i16x8_s(upper, lower);
      v128.store(to, v128.shuffle<i32>(bytes, bytes, 0, 2, 1, 3));
      const sums = i32x4.dot_i16x8_s(x, ones);
      if (i < BLOCK / 2) first = i32x4.add(first, sums);
      else second = i32x4.add(second, sums);
    }
    store<i32>(to, total(first));
    store<i32>(to, total(second), 4);
  }
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function total(sums: v128): i32 {
  const pairs = i32x4.add(sums, v128.shuffle<i32>(sums, sums, 2, 3, 0, 1));
  return i32x4.extract_lane(pairs, 0) + i32x4.extract_lane(pairs, 1);
}

/** sum + the products of four rows' codes with four bytes of x. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function dot(sum: v128, weights: v128, x: usize): v128 {
  return i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load32_splat(x), weights, sum);
}

/** 256 × upper + lower, and what the codes count from taken off. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function together(type: Packed, upper: v128, lower: v128, sumOfX: v128): v128 {
  const sum = i32x4.add(i32x4.shl(upper, 8), lower);
  return f32x4.convert_i32x4_s(
    center(type) > 0 ? i32x4.sub(sum, i32x4.mul(sumOfX, i32x4.splat(center(type)))) : sum,
  );
}

/** The four rows' sums over a group: float32. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function groupSum(type: Packed, group: usize, x: usize): v128 {
  let upper0 = i32x4.splat(0);
  let lower0 = upper0;
  let upper1 = upper0;
  let lower1 = upper0;
  let bits0 = upperBits(type, group, 0);
  let bits1 = upperBits(type, group, 1);
  const sums = x + 64;
  // Four sums, for each waits for what was added to it before.
  for (const end = group + 64; group < end; group += 16, x += 8) {
    const pairs = v128.load(group);
    let weights = codes(type, pairs, bits0, 0);
    upper0 = dot(upper0, weights, x);
    lower0 = dot(lower0, weights, x + 4);
    weights = codes(type, pairs, bits1, 1);
    upper1 = dot(upper1, weights, x + 32);
    lower1 = dot(lower1, weights, x + 36);
    bits0 = nextQuad(type, bits0);
    bits1 = nextQuad(type, bits1);
  }
  const sumOfX = i32x4.add(v128.load32_splat(sums), v128.load32_splat(sums, 4));
  return together(type, i32x4.add(upper0, upper1), i32x4.add(lower0, lower1), sumOfX);
}

/** sum + a × b × c, where c is one number in memory. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function addScaled(sum: v128, a: v128, b: v128, c: usize): v128 {
  return f32x4.add(sum, f32x4.mul(a, f32x4.mul(b, v128.load32_splat(c))));
}

/** Groups with scales behind them. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function plainPanel(type: Packed, w: usize, panelBytes: usize, x: usize, scales: usize, y: usize): void {
  let sum = f32x4.splat(0);
  for (const end = w + panelBytes; w < end; x += X_BLOCK, scales += 8) {
    const tail = w + 64 + upperBytes(type);
    sum = addScaled(sum, groupSum(type, w, x), tailScale(type, tail), scales);
    if (hasMinimum(type))
      sum = f32x4.add(
        sum,
        f32x4.mul(anyHalvesToFloats(v128.load64_zero(tail, 8)), v128.load32_splat(scales, 4)),
      );
    w = tail + tailBytes(type);
  }
  v128.store(y, sum);
}

/** q4_K and q5_K. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function kPanel(type: Packed, w: usize, panelBytes: usize, x: usize, scales: usize, y: usize): void {
  const groupBytes: usize = 64 + upperBytes(type);
  let sum = f32x4.splat(0);
  for (const end = w + panelBytes; w < end; ) {
    const scale = anyHalvesToFloats(v128.load64_zero(w));
    const minimum = anyHalvesToFloats(v128.load64_zero(w, 8));
    let scaled = f32x4.splat(0);
    let minimums = scaled;
    let packed = w + 16;
    w += 64;
    for (const heads = w; packed < heads; packed += 12, x += 2 * X_BLOCK, scales += 16, w += 2 * groupBytes) {
      // Four bytes more than there are, which lie before the weights.
      const numbers = v128.load(packed);
      scaled = addScaled(scaled, groupSum(type, w, x), f32x4.convert_i32x4_s(sixBits(numbers, 0)), scales);
      const first = f32x4.convert_i32x4_s(sixBits(numbers, 1));
      minimums = f32x4.add(minimums, f32x4.mul(first, v128.load32_splat(scales, 4)));
      const next = groupSum(type, w + groupBytes, x + X_BLOCK);
      scaled = addScaled(scaled, next, f32x4.convert_i32x4_s(sixBits(numbers, 2)), scales + 8);
      const second = f32x4.convert_i32x4_s(sixBits(numbers, 3));
      minimums = f32x4.add(minimums, f32x4.mul(second, v128.load32_splat(scales, 12)));
    }
    sum = f32x4.add(sum, f32x4.sub(f32x4.mul(scale, scaled), f32x4.mul(minimum, minimums)));
  }
  v128.store(y, sum);
}

/** Each half of a group has a scale. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function q6Panel(w: usize, panelBytes: usize, x: usize, scales: usize, y: usize): void {
  let sum = f32x4.splat(0);
  for (const end = w + panelBytes; w < end; ) {
    const scale = anyHalvesToFloats(v128.load64_zero(w));
    let scaled = f32x4.splat(0);
    let numbers = w + 8;
    w += 72;
    for (const heads = w; numbers < heads; numbers += 8, x += X_BLOCK - 32, scales += 8, w += 32) {
      let upper0 = i32x4.splat(0);
      let lower0 = upper0;
      let upper1 = upper0;
      let lower1 = upper0;
      let bits0 = upperBits(Q6_K, w, 0);
      let bits1 = upperBits(Q6_K, w, 1);
      for (const quads = w + 64; w < quads; w += 16, x += 8) {
        const pairs = v128.load(w);
        let weights = codes(Q6_K, pairs, bits0, 0);
        upper0 = dot(upper0, weights, x);
        lower0 = dot(lower0, weights, x + 4);
        weights = codes(Q6_K, pairs, bits1, 1);
        upper1 = dot(upper1, weights, x + 32);
        lower1 = dot(lower1, weights, x + 36);
        bits0 = nextQuad(Q6_K, bits0);
        bits1 = nextQuad(Q6_K, bits1);
      }
      const wide = v128.load8x8_s(numbers);
      const sums = f32x4.add(
        f32x4.mul(
          together(Q6_K, upper0, lower0, v128.load32_splat(x, 32)),
          f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(wide)),
        ),
        f32x4.mul(
          together(Q6_K, upper1, lower1, v128.load32_splat(x, 36)),
          f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(wide)),
        ),
      );
      scaled = f32x4.add(scaled, f32x4.mul(sums, v128.load32_splat(scales)));
    }
    sum = f32x4.add(sum, f32x4.mul(scale, scaled));
  }
  v128.store(y, sum);
}
