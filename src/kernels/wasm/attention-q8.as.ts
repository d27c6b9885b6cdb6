/**
 * The products of attention with keys and values of 8 bits, in integers: queries and weights are rounded to int16 with a
 * scale for each head, nearly without loss, and sums of products stay below 64 × 127 × 32767 < 2^28.
 *
 * Keys lie as (positions / 4, columns / 4, 4 positions, 4 columns), as in a q8 panel; values as (positions / 2, columns,
 * 2 positions), so that a product of pairs adds up positions. Behind either lie the scales, a float16 for 32 columns of a
 * position: of keys (positions / 4, columns / 32, 4), of values (columns / 32, positions).
 */
import { anyHalvesToFloats } from "./half.as";
import { BLOCK } from "./layout.as";
import { loadColumns, padded, storeTransposed, toHalf } from "./kv-layout.as";
import { sumPairs } from "./matmul-q8.as";

const LIMIT: f32 = 32767;

/** Round a key to where it lies among the keys of its head in a block. */
export function storeKeyQ8(x: usize, headSize: i32, blockPositions: i32, within: i32, keys: usize): void {
  const columns = padded(headSize);
  const groups = (headSize + BLOCK - 1) / BLOCK;
  const scales = keys + <usize>(blockPositions * columns) + <usize>((within & ~3) * groups + (within & 3)) * 2;
  let to = keys + <usize>((within & ~3) * columns + (within & 3) * 4);
  for (let group = 0; group < groups; group++) {
    const end = min(columns, (group + 1) * BLOCK);
    const inverse = f32x4.splat(storeScale(x, group * BLOCK, headSize, scales + <usize>group * 8));
    for (let i = group * BLOCK; i < end; i += 4, to += 16) v128.store32_lane(to, round(x, i, headSize, inverse), 0);
  }
}

/** The same of a value. */
export function storeValueQ8(x: usize, headSize: i32, blockPositions: i32, within: i32, values: usize): void {
  const columns = padded(headSize);
  const groups = (headSize + BLOCK - 1) / BLOCK;
  const scales = values + <usize>(blockPositions * columns) + <usize>within * 2;
  let to = values + <usize>((within & ~1) * columns + (within & 1));
  for (let group = 0; group < groups; group++) {
    const end = min(columns, (group + 1) * BLOCK);
    const inverse = f32x4.splat(storeScale(x, group * BLOCK, headSize, scales + <usize>(group * blockPositions) * 2));
    for (let i = group * BLOCK; i < end; i += 4, to += 8) {
      const four = round(x, i, headSize, inverse);
      v128.store8_lane(to, four, 0);
      v128.store8_lane(to, four, 1, 2);
      v128.store8_lane(to, four, 2, 4);
      v128.store8_lane(to, four, 3, 6);
    }
  }
}

/**
 * Round q / sqrt(headSize) to int16, as (columns / 4, lanes, 4): for each four columns those of one or four heads.
 * Returns their scales.
 */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function quantizeQueries(lanes: i32, q: usize, headSize: i32, heads: i32, to: usize): v128 {
  const columns = padded(headSize);
  let scales = f32x4.splat(0);
  for (let head = 0; head < lanes; head++, to += 8) {
    const row = q + <usize>(min(head, heads - 1) * headSize) * 4;
    const largest = largestOf(row, 0, headSize, headSize);
    // A new lane at the end, one out at the beginning: the first head's comes to the first lane at last.
    scales = v128.shuffle<f32>(scales, f32x4.splat(largest / LIMIT), 1, 2, 3, 4);
    const inverse = f32x4.splat(largest > 0 ? LIMIT / largest : 0);
    for (let i = 0; i < columns; i += 4) {
      const rounded = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(loadColumns(row, i, headSize), inverse)));
      v128.store64_lane(to + <usize>(i * lanes) * 2, i16x8.narrow_i32x4_s(rounded, rounded), 0);
    }
  }
  if (lanes === 1) scales = v128.shuffle<f32>(scales, scales, 3, 3, 3, 3);
  return f32x4.mul(scales, f32x4.splat(<f32>(1 / Math.sqrt(<f64>headSize))));
}

/** Scores of one head: four keys at a time, so that up to three scores behind `count` are nonsense. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function q8ScoresOne(
  q: usize,
  scale: v128,
  keys: usize,
  count: i32,
  blockPositions: i32,
  headSize: i32,
  scores: usize,
): void {
  const panelBytes = <usize>padded(headSize) * 4;
  let scales = keys + <usize>blockPositions * (panelBytes / 4);
  for (const end = scores + <usize>count * 4; scores < end; scores += 16) {
    let sum = f32x4.splat(0);
    let x = q;
    for (const panelEnd = keys + panelBytes; keys < panelEnd; scales += 8) {
      let a = i32x4.splat(0);
      let b = a;
      for (const quads = min(panelEnd, keys + BLOCK * 4); keys < quads; keys += 32, x += 16) {
        let four = v128.load64_splat(x);
        a = i32x4.add(a, i32x4.dot_i16x8_s(v128.load8x8_s(keys), four));
        b = i32x4.add(b, i32x4.dot_i16x8_s(v128.load8x8_s(keys, 8), four));
        four = v128.load64_splat(x + 8);
        a = i32x4.add(a, i32x4.dot_i16x8_s(v128.load8x8_s(keys + 16), four));
        b = i32x4.add(b, i32x4.dot_i16x8_s(v128.load8x8_s(keys + 16, 8), four));
      }
      sum = f32x4.add(sum, f32x4.mul(sumPairs(a, b), anyHalvesToFloats(v128.load64_zero(scales))));
    }
    v128.store(scores, f32x4.mul(sum, scale));
  }
}

/** Scores of four heads, likewise. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function q8ScoresFour(
  q: usize,
  scale: v128,
  keys: usize,
  count: i32,
  blockPositions: i32,
  headSize: i32,
  scores: usize,
): void {
  const panelBytes = <usize>padded(headSize) * 4;
  let scales = keys + <usize>blockPositions * (panelBytes / 4);
  for (const end = scores + <usize>count * 16; scores < end; scores += 64) {
    let sum0 = f32x4.splat(0);
    let sum1 = sum0;
    let sum2 = sum0;
    let sum3 = sum0;
    let x = q;
    for (const panelEnd = keys + panelBytes; keys < panelEnd; scales += 8) {
      let a0 = i32x4.splat(0);
      let a1 = a0;
      let a2 = a0;
      let a3 = a0;
      let b0 = a0;
      let b1 = a0;
      let b2 = a0;
      let b3 = a0;
      for (const quads = min(panelEnd, keys + BLOCK * 4); keys < quads; keys += 16, x += 32) {
        const upper = v128.load8x8_s(keys);
        const lower = v128.load8x8_s(keys, 8);
        let four = v128.load64_splat(x);
        a0 = i32x4.add(a0, i32x4.dot_i16x8_s(upper, four));
        b0 = i32x4.add(b0, i32x4.dot_i16x8_s(lower, four));
        four = v128.load64_splat(x, 8);
        a1 = i32x4.add(a1, i32x4.dot_i16x8_s(upper, four));
        b1 = i32x4.add(b1, i32x4.dot_i16x8_s(lower, four));
        four = v128.load64_splat(x, 16);
        a2 = i32x4.add(a2, i32x4.dot_i16x8_s(upper, four));
        b2 = i32x4.add(b2, i32x4.dot_i16x8_s(lower, four));
        four = v128.load64_splat(x, 24);
        a3 = i32x4.add(a3, i32x4.dot_i16x8_s(upper, four));
        b3 = i32x4.add(b3, i32x4.dot_i16x8_s(lower, four));
      }
      const keyScales = anyHalvesToFloats(v128.load64_zero(scales));
      sum0 = f32x4.add(sum0, f32x4.mul(sumPairs(a0, b0), keyScales));
      sum1 = f32x4.add(sum1, f32x4.mul(sumPairs(a1, b1), keyScales));
      sum2 = f32x4.add(sum2, f32x4.mul(sumPairs(a2, b2), keyScales));
      sum3 = f32x4.add(sum3, f32x4.mul(sumPairs(a3, b3), keyScales));
    }
    sum0 = f32x4.mul(sum0, v128.shuffle<f32>(scale, scale, 0, 0, 0, 0));
    sum1 = f32x4.mul(sum1, v128.shuffle<f32>(scale, scale, 1, 1, 1, 1));
    sum2 = f32x4.mul(sum2, v128.shuffle<f32>(scale, scale, 2, 2, 2, 2));
    sum3 = f32x4.mul(sum3, v128.shuffle<f32>(scale, scale, 3, 3, 3, 3));
    storeTransposed(sum0, sum1, sum2, sum3, scores);
  }
}

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
    const scale = f32x4.mul(largest, f32x4.splat(1 / LIMIT));
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
    const scale = f32x4.mul(largest, f32x4.splat(1 / LIMIT));
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
  return f32x4.min(f32x4.div(f32x4.splat(LIMIT), largest), f32x4.splat(1e34));
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function roundWeights(weights: v128, inverse: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(weights, inverse)));
}

/**
 * The scale of the 32 columns from `first` on, as float16 and rounded up, so that no value is beyond 127. Returns what
 * values are to be multiplied with.
 */
function storeScale(x: usize, first: i32, headSize: i32, to: usize): f32 {
  const largest = largestOf(x, first, min(headSize, first + BLOCK), headSize);
  let half = toHalf(reinterpret<u32>(largest / 127));
  if (halfToFloat(half) * 127 < largest) half++;
  store<u16>(to, half);
  const scale = halfToFloat(half);
  return scale > 0 ? 1 / scale : 0;
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function halfToFloat(half: u16): f32 {
  return f32x4.extract_lane(anyHalvesToFloats(i16x8.splat(<i16>half)), 0);
}

/** Four columns as int8, in the first four bytes. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function round(x: usize, column: i32, headSize: i32, inverse: v128): v128 {
  const scaled = f32x4.mul(loadColumns(x, column, headSize), inverse);
  const words = i32x4.trunc_sat_f32x4_s(f32x4.nearest(scaled));
  const halves = i16x8.narrow_i32x4_s(words, words);
  return i8x16.narrow_i16x8_s(halves, halves);
}

/** The largest magnitude of columns [first, end). */
// @ts-expect-error: decorators of AssemblyScript
@inline
function largestOf(x: usize, first: i32, end: i32, headSize: i32): f32 {
  let largest = f32x4.splat(0);
  for (let i = first; i < end; i += 4) largest = f32x4.max(largest, f32x4.abs(loadColumns(x, i, headSize)));
  largest = f32x4.max(largest, v128.shuffle<f32>(largest, largest, 2, 3, 0, 1));
  largest = f32x4.max(largest, v128.shuffle<f32>(largest, largest, 1, 0, 3, 2));
  return f32x4.extract_lane(largest, 0);
}
