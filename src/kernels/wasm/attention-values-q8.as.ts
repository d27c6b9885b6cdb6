/**
 * Weighted sums of values of 8 bits (how they lie: kv-store-q8.as.ts), in integers: weights are rounded to int16 with a
 * scale for each head and 32 columns.
 */
import { anyHalvesToFloats } from "./half.as";
import { INT16_LIMIT, padded } from "./kv-layout.as";
import { BLOCK } from "./layout.as";

/** sums = sums × rescale + Σ weight × value of one head. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function q8ValuesOne(
  weights: usize,
  scaled: usize,
  values: usize,
  count: i32,
  blockPositions: i32,
  headSize: i32,
  rescale: f32,
  sums: usize,
): void {
  const columns = padded(headSize);
  const pairBytes = <usize>columns * 2;
  let scales = values + <usize>(blockPositions * columns);
  const filled = (count + 3) & ~3;
  const end = scaled + <usize>filled * 2;
  for (let i = 0; i < columns; i += BLOCK, scales += <usize>blockPositions * 2) {
    // Weights take up the scales of the values, and are rounded then.
    let largest = f32x4.splat(0);
    for (let p = 0; p < filled; p += 4) {
      const four = f32x4.mul(v128.load(weights + <usize>p * 4), scalesOf(scales, p, count));
      largest = f32x4.max(largest, four);
      v128.store(scaled + <usize>p * 4, four);
    }
    largest = f32x4.max(largest, v128.shuffle<f32>(largest, largest, 2, 3, 0, 1));
    largest = f32x4.max(largest, v128.shuffle<f32>(largest, largest, 1, 0, 3, 2));
    const inverse = inverseOf(largest);
    for (let p = 0; p < filled; p += 4) {
      const four = roundWeights(v128.load(scaled + <usize>p * 4), inverse);
      v128.store64_lane(scaled + <usize>p * 2, i16x8.narrow_i32x4_s(four, four), 0);
    }
    const scale = f32x4.mul(largest, f32x4.splat(1 / INT16_LIMIT));
    const factor = f32x4.splat(rescale);
    const last = min(columns, i + BLOCK);
    for (let column = i; column < last; column += 8, values += 16, sums += 32) {
      let a = i32x4.splat(0);
      let b = a;
      let value = values;
      for (let w = scaled; w < end; w += 4, value += pairBytes) {
        const weight = v128.load32_splat(w);
        a = i32x4.add(a, i32x4.dot_i16x8_s(v128.load8x8_s(value), weight));
        b = i32x4.add(b, i32x4.dot_i16x8_s(v128.load8x8_s(value, 8), weight));
      }
      addTo(sums, factor, a, scale);
      addTo(sums + 16, factor, b, scale);
    }
  }
}

/** The same of four heads. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function q8ValuesFour(
  weights: usize,
  scaled: usize,
  values: usize,
  count: i32,
  blockPositions: i32,
  headSize: i32,
  rescale: v128,
  sums: usize,
): void {
  const columns = padded(headSize);
  const pairBytes = <usize>columns * 2;
  const sumBytes = <usize>columns * 4;
  let scales = values + <usize>(blockPositions * columns);
  const filled = (count + 3) & ~3;
  const end = scaled + <usize>filled * 8;
  for (let i = 0; i < columns; i += BLOCK, scales += <usize>blockPositions * 2) {
    let largest = f32x4.splat(0);
    for (let p = 0; p < filled; p += 4) {
      const four = scalesOf(scales, p, count);
      const from = weights + <usize>p * 16;
      const to = scaled + <usize>p * 16;
      const w0 = f32x4.mul(v128.load(from), v128.shuffle<f32>(four, four, 0, 0, 0, 0));
      const w1 = f32x4.mul(v128.load(from, 16), v128.shuffle<f32>(four, four, 1, 1, 1, 1));
      const w2 = f32x4.mul(v128.load(from, 32), v128.shuffle<f32>(four, four, 2, 2, 2, 2));
      const w3 = f32x4.mul(v128.load(from, 48), v128.shuffle<f32>(four, four, 3, 3, 3, 3));
      largest = f32x4.max(largest, f32x4.max(f32x4.max(w0, w1), f32x4.max(w2, w3)));
      v128.store(to, w0);
      v128.store(to, w1, 16);
      v128.store(to, w2, 32);
      v128.store(to, w3, 48);
    }
    const inverse = inverseOf(largest);
    for (let p = 0; p < filled; p += 2) {
      const even = roundWeights(v128.load(scaled + <usize>p * 16), inverse);
      const odd = roundWeights(v128.load(scaled + <usize>p * 16, 16), inverse);
      v128.store(scaled + <usize>p * 8, v128.or(even, i32x4.shl(odd, 16)));
    }
    const scale = f32x4.mul(largest, f32x4.splat(1 / INT16_LIMIT));
    const last = min(columns, i + BLOCK);
    for (let column = i; column < last; column += 8, values += 16, sums += 32) {
      let a0 = i32x4.splat(0);
      let b0 = a0;
      let c0 = a0;
      let d0 = a0;
      let a1 = a0;
      let b1 = a0;
      let c1 = a0;
      let d1 = a0;
      let value = values;
      for (let w = scaled; w < end; w += 16, value += pairBytes) {
        const value0 = v128.load8x8_s(value);
        const value1 = v128.load8x8_s(value, 8);
        let weight = v128.load32_splat(w);
        a0 = i32x4.add(a0, i32x4.dot_i16x8_s(value0, weight));
        a1 = i32x4.add(a1, i32x4.dot_i16x8_s(value1, weight));
        weight = v128.load32_splat(w, 4);
        b0 = i32x4.add(b0, i32x4.dot_i16x8_s(value0, weight));
        b1 = i32x4.add(b1, i32x4.dot_i16x8_s(value1, weight));
        weight = v128.load32_splat(w, 8);
        c0 = i32x4.add(c0, i32x4.dot_i16x8_s(value0, weight));
        c1 = i32x4.add(c1, i32x4.dot_i16x8_s(value1, weight));
        weight = v128.load32_splat(w, 12);
        d0 = i32x4.add(d0, i32x4.dot_i16x8_s(value0, weight));
        d1 = i32x4.add(d1, i32x4.dot_i16x8_s(value1, weight));
      }
      let factor = v128.shuffle<f32>(rescale, rescale, 0, 0, 0, 0);
      let unit = v128.shuffle<f32>(scale, scale, 0, 0, 0, 0);
      addTo(sums, factor, a0, unit);
      addTo(sums + 16, factor, a1, unit);
      factor = v128.shuffle<f32>(rescale, rescale, 1, 1, 1, 1);
      unit = v128.shuffle<f32>(scale, scale, 1, 1, 1, 1);
      addTo(sums + sumBytes, factor, b0, unit);
      addTo(sums + sumBytes + 16, factor, b1, unit);
      factor = v128.shuffle<f32>(rescale, rescale, 2, 2, 2, 2);
      unit = v128.shuffle<f32>(scale, scale, 2, 2, 2, 2);
      addTo(sums + 2 * sumBytes, factor, c0, unit);
      addTo(sums + 2 * sumBytes + 16, factor, c1, unit);
      factor = v128.shuffle<f32>(rescale, rescale, 3, 3, 3, 3);
      unit = v128.shuffle<f32>(scale, scale, 3, 3, 3, 3);
      addTo(sums + 3 * sumBytes, factor, d0, unit);
      addTo(sums + 3 * sumBytes + 16, factor, d1, unit);
    }
  }
}

/** sums = sums × factor + products × unit */
// @ts-expect-error: decorators of AssemblyScript
@inline
function addTo(sums: usize, factor: v128, products: v128, unit: v128): void {
  const added = f32x4.mul(f32x4.convert_i32x4_s(products), unit);
  v128.store(sums, f32x4.add(f32x4.mul(v128.load(sums), factor), added));
}

/** Scales of four positions from `p` on; zero for those from `count` on, where anything may have been left. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function scalesOf(scales: usize, p: i32, count: i32): v128 {
  const four = anyHalvesToFloats(v128.load64_zero(scales + <usize>p * 2));
  return v128.and(four, i32x4.lt_s(i32x4(0, 1, 2, 3), i32x4.splat(count - p)));
}

/** What makes the largest 32767; not infinite for the least of weights. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function inverseOf(largest: v128): v128 {
  return f32x4.min(f32x4.div(f32x4.splat(INT16_LIMIT), largest), f32x4.splat(1e34));
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function roundWeights(weights: v128, inverse: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(weights, inverse)));
}
