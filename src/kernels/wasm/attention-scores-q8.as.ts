/**
 * Scores of queries with keys of 8 bits (how they lie: kv-store-q8.as.ts), in integers: queries are rounded to int16 with
 * a scale for each head, nearly without loss, and sums of products stay below 64 × 127 × 32767 < 2^28.
 */
import { anyHalvesToFloats } from "./half.as";
import { INT16_LIMIT, largestOf, loadColumns, padded, storeTransposed } from "./kv-layout.as";
import { BLOCK } from "./layout.as";
import { sumPairs } from "./matmul-q8.as";

/**
 * Round q × factor to int16, as (columns / 4, lanes, 4): for each four columns those of one or four heads.
 * Returns their scales.
 */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function quantizeQueries(lanes: i32, q: usize, headSize: i32, heads: i32, factor: f32, to: usize): v128 {
  const columns = padded(headSize);
  let scales = f32x4.splat(0);
  for (let head = 0; head < lanes; head++, to += 8) {
    const row = q + <usize>(min(head, heads - 1) * headSize) * 4;
    const largest = largestOf(row, 0, headSize, headSize);
    // A new lane at the end, one out at the beginning: the first head's comes to the first lane at last.
    scales = v128.shuffle<f32>(scales, f32x4.splat(largest / INT16_LIMIT), 1, 2, 3, 4);
    const inverse = f32x4.splat(largest > 0 ? INT16_LIMIT / largest : 0);
    for (let i = 0; i < columns; i += 4) {
      const rounded = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(loadColumns(row, i, headSize), inverse)));
      v128.store64_lane(to + <usize>(i * lanes) * 2, i16x8.narrow_i32x4_s(rounded, rounded), 0);
    }
  }
  if (lanes === 1) scales = v128.shuffle<f32>(scales, scales, 3, 3, 3, 3);
  return f32x4.mul(scales, f32x4.splat(factor));
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
