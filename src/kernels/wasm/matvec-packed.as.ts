/**
 * One row of x (int16, see q16.as.ts) times packed panels. Codes become int16 on the way; sums of a group are exact in
 * int32 (32 × 127 × 32767 < 2^27). Where a stretch has scales of its scales, these come in once at its end.
 */
import { anyHalvesToFloats } from "./half.as";
import { sumPairs } from "./matmul-q8.as";
import {
  hasMinimum,
  IQ4_NL,
  IQ4_XS,
  MXFP4,
  nextQuad,
  Packed,
  packedPanelBytes,
  Q4_1,
  Q4_K,
  Q5_0,
  Q5_1,
  Q5_K,
  Q6_K,
  quad,
  sixBits,
  tailBytes,
  tailScale,
  upperBits,
  upperBytes,
} from "./packed.as";

/** One row of `Kernels.matmulPacked`, for each dtype a function: all in one would run at half the speed. */
export function matvecQ4_1(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  multiply(Q4_1, panels, count, columns, q, scales, y);
}

export function matvecQ5_0(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  multiply(Q5_0, panels, count, columns, q, scales, y);
}

export function matvecQ5_1(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  multiply(Q5_1, panels, count, columns, q, scales, y);
}

export function matvecIQ4_NL(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  multiply(IQ4_NL, panels, count, columns, q, scales, y);
}

export function matvecMXFP4(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  multiply(MXFP4, panels, count, columns, q, scales, y);
}

export function matvecQ4_K(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  multiply(Q4_K, panels, count, columns, q, scales, y);
}

export function matvecQ5_K(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  multiply(Q5_K, panels, count, columns, q, scales, y);
}

export function matvecQ6_K(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  multiply(Q6_K, panels, count, columns, q, scales, y);
}

export function matvecIQ4_XS(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  multiply(IQ4_XS, panels, count, columns, q, scales, y);
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
): void {
  const panelBytes = packedPanelBytes(type, columns);
  for (const end = panels + <usize>count * panelBytes; panels < end; panels += panelBytes, y += 16) {
    if (type === Q4_K || type === Q5_K) kPanel(type, panels, panelBytes, q, scales, y);
    else if (type === Q6_K) q6Panel(panels, panelBytes, q, scales, y);
    else if (type === IQ4_XS) iq4Panel(panels, panelBytes, q, scales, y);
    else plainPanel(type, panels, panelBytes, q, scales, y);
  }
}

/** The four rows' sums over 16 columns of a group: float32. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function halfSum(type: Packed, group: usize, half: i32, q: usize): v128 {
  let a = i32x4.splat(0);
  let b = a;
  let bits = upperBits(type, group, half);
  for (const end = group + 64; group < end; group += 16, q += 8) {
    const weights = quad(type, v128.load(group), bits, half);
    const x = v128.load64_splat(q);
    a = i32x4.add(a, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(weights), x));
    b = i32x4.add(b, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(weights), x));
    bits = nextQuad(type, bits);
  }
  return sumPairs(a, b);
}

/** The same over all 32. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function groupSum(type: Packed, group: usize, q: usize): v128 {
  let a = i32x4.splat(0);
  let b = a;
  let lower = upperBits(type, group, 0);
  let upper = upperBits(type, group, 1);
  for (const end = group + 64; group < end; group += 16, q += 8) {
    const pairs = v128.load(group);
    let weights = quad(type, pairs, lower, 0);
    let x = v128.load64_splat(q);
    a = i32x4.add(a, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(weights), x));
    b = i32x4.add(b, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(weights), x));
    weights = quad(type, pairs, upper, 1);
    x = v128.load64_splat(q, 32);
    a = i32x4.add(a, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(weights), x));
    b = i32x4.add(b, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(weights), x));
    lower = nextQuad(type, lower);
    upper = nextQuad(type, upper);
  }
  return sumPairs(a, b);
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
function plainPanel(type: Packed, w: usize, panelBytes: usize, q: usize, scales: usize, y: usize): void {
  let sum = f32x4.splat(0);
  for (const end = w + panelBytes; w < end; q += 64, scales += 8) {
    const tail = w + 64 + upperBytes(type);
    sum = addScaled(sum, groupSum(type, w, q), tailScale(type, tail), scales);
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
function kPanel(type: Packed, w: usize, panelBytes: usize, q: usize, scales: usize, y: usize): void {
  const groupBytes: usize = 64 + upperBytes(type);
  let sum = f32x4.splat(0);
  for (const end = w + panelBytes; w < end; ) {
    const scale = anyHalvesToFloats(v128.load64_zero(w));
    const minimum = anyHalvesToFloats(v128.load64_zero(w, 8));
    let scaled = f32x4.splat(0);
    let minimums = scaled;
    let packed = w + 16;
    w += 64;
    for (const heads = w; packed < heads; packed += 12, q += 128, scales += 16, w += 2 * groupBytes) {
      // Four bytes more than there are, which lie before the weights.
      const numbers = v128.load(packed);
      scaled = addScaled(scaled, groupSum(type, w, q), f32x4.convert_i32x4_s(sixBits(numbers, 0)), scales);
      const first = f32x4.convert_i32x4_s(sixBits(numbers, 1));
      minimums = f32x4.add(minimums, f32x4.mul(first, v128.load32_splat(scales, 4)));
      const next = groupSum(type, w + groupBytes, q + 64);
      scaled = addScaled(scaled, next, f32x4.convert_i32x4_s(sixBits(numbers, 2)), scales + 8);
      const second = f32x4.convert_i32x4_s(sixBits(numbers, 3));
      minimums = f32x4.add(minimums, f32x4.mul(second, v128.load32_splat(scales, 12)));
    }
    sum = f32x4.add(sum, f32x4.sub(f32x4.mul(scale, scaled), f32x4.mul(minimum, minimums)));
  }
  v128.store(y, sum);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function q6Panel(w: usize, panelBytes: usize, q: usize, scales: usize, y: usize): void {
  let sum = f32x4.splat(0);
  for (const end = w + panelBytes; w < end; ) {
    const scale = anyHalvesToFloats(v128.load64_zero(w));
    let scaled = f32x4.splat(0);
    let numbers = w + 8;
    w += 72;
    for (const heads = w; numbers < heads; numbers += 8, q += 64, scales += 8, w += 96) {
      const wide = v128.load8x8_s(numbers);
      const first = f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(wide));
      const second = f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(wide));
      const sums = f32x4.add(
        f32x4.mul(halfSum(Q6_K, w, 0, q), first),
        f32x4.mul(halfSum(Q6_K, w, 1, q + 32), second),
      );
      scaled = f32x4.add(scaled, f32x4.mul(sums, v128.load32_splat(scales)));
    }
    sum = f32x4.add(sum, f32x4.mul(scale, scaled));
  }
  v128.store(y, sum);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function iq4Panel(w: usize, panelBytes: usize, q: usize, scales: usize, y: usize): void {
  let sum = f32x4.splat(0);
  for (const end = w + panelBytes; w < end; ) {
    const scale = anyHalvesToFloats(v128.load64_zero(w));
    let scaled = f32x4.splat(0);
    let packed = w + 8;
    w += 32;
    for (const heads = w; packed < heads; packed += 12, q += 256, scales += 32, w += 256) {
      const numbers = v128.load(packed);
      scaled = addScaled(scaled, groupSum(IQ4_XS, w, q), centered(numbers, 0), scales);
      scaled = addScaled(scaled, groupSum(IQ4_XS, w + 64, q + 64), centered(numbers, 1), scales + 8);
      scaled = addScaled(scaled, groupSum(IQ4_XS, w + 128, q + 128), centered(numbers, 2), scales + 16);
      scaled = addScaled(scaled, groupSum(IQ4_XS, w + 192, q + 192), centered(numbers, 3), scales + 24);
    }
    sum = f32x4.add(sum, f32x4.mul(scale, scaled));
  }
  v128.store(y, sum);
}

/** A scale of iq4_xs: six bits counted from -32. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function centered(numbers: v128, k: i32): v128 {
  return f32x4.convert_i32x4_s(i32x4.sub(sixBits(numbers, k), i32x4.splat(32)));
}
