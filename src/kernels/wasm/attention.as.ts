/**
 * Attention of some heads of one row: softmax(factor q·K) V over positions start … position, block by block with a
 * running maximum and sum (arXiv 1805.02867). The heads share keys and values: four of them are computed together, so
 * that each key and value is loaded and widened once, or one alone; to the bit the same either way. How keys and values
 * lie in a block is told in kernels/kv-layout.ts.
 *
 * Scores, then weights, of a block lie as (positions, heads).
 */
import { floatScoresFour, floatScoresOne, floatValuesFour, floatValuesOne, loadQueries } from "./attention-float.as";
import { q8ScoresFour, q8ScoresOne, quantizeQueries } from "./attention-scores-q8.as";
import { q8ValuesFour, q8ValuesOne } from "./attention-values-q8.as";
import { exp4 } from "./exp.as";
import { F16, F32, loadColumns, padded, Q8 } from "./kv-layout.as";
import { softCap } from "./soft-cap.as";

/**
 * float32 keys and values.
 *
 * @param q (heads, headSize)
 * @param heads one to four
 * @param blocks table of addresses of the blocks (uint32)
 * @param blockPositions a multiple of four
 * @param keyOffset of these heads' keys in a block; likewise valueOffset
 * @param start the first position that counts
 * @param factor of the products of q and k
 * @param cap that they are soft-capped to; 0: not
 * @param scratch see `attentionScratchBytes`
 * @param out (heads, headSize)
 */
export function attentionF32(
  q: usize,
  headSize: i32,
  heads: i32,
  blocks: usize,
  blockPositions: i32,
  keyOffset: usize,
  valueOffset: usize,
  start: i32,
  position: i32,
  factor: f32,
  cap: f32,
  scratch: usize,
  out: usize,
): void {
  if (heads === 1)
    attendOne(F32, q, headSize, blocks, blockPositions, keyOffset, valueOffset, start, position, factor, cap, scratch, out);
  else
    attendFour(F32, q, headSize, heads, blocks, blockPositions, keyOffset, valueOffset, start, position, factor, cap, scratch, out);
}

/** float16 keys and values. */
export function attentionF16(
  q: usize,
  headSize: i32,
  heads: i32,
  blocks: usize,
  blockPositions: i32,
  keyOffset: usize,
  valueOffset: usize,
  start: i32,
  position: i32,
  factor: f32,
  cap: f32,
  scratch: usize,
  out: usize,
): void {
  if (heads === 1)
    attendOne(F16, q, headSize, blocks, blockPositions, keyOffset, valueOffset, start, position, factor, cap, scratch, out);
  else
    attendFour(F16, q, headSize, heads, blocks, blockPositions, keyOffset, valueOffset, start, position, factor, cap, scratch, out);
}

/** Keys and values of 8 bits. */
export function attentionQ8(
  q: usize,
  headSize: i32,
  heads: i32,
  blocks: usize,
  blockPositions: i32,
  keyOffset: usize,
  valueOffset: usize,
  start: i32,
  position: i32,
  factor: f32,
  cap: f32,
  scratch: usize,
  out: usize,
): void {
  if (heads === 1)
    attendOne(Q8, q, headSize, blocks, blockPositions, keyOffset, valueOffset, start, position, factor, cap, scratch, out);
  else
    attendFour(Q8, q, headSize, heads, blocks, blockPositions, keyOffset, valueOffset, start, position, factor, cap, scratch, out);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function attendOne(
  kind: i32,
  q: usize,
  headSize: i32,
  blocks: usize,
  blockPositions: i32,
  keyOffset: usize,
  valueOffset: usize,
  start: i32,
  position: i32,
  factor: f32,
  cap: f32,
  scratch: usize,
  out: usize,
): void {
  const queries = scratch;
  const sums = queries + <usize>padded(headSize) * 16;
  const scores = sums + <usize>padded(headSize) * 16;
  const scaled = scores + <usize>blockPositions * 16;
  memory.fill(sums, 0, <usize>padded(headSize) * 4);
  const scale = kind === Q8 ? quantizeQueries(1, q, headSize, 1, factor, queries) : loadQueries(1, q, headSize, 1, factor, queries);
  let highest: f32 = -Infinity;
  let total: f32 = 0;
  const from = start - (start % blockPositions);
  blocks += <usize>(from / blockPositions) * 4;
  for (let first = from; first <= position; first += blockPositions, blocks += 4) {
    const count = min(blockPositions, position + 1 - first);
    const keys = <usize>load<u32>(blocks) + keyOffset;
    const values = <usize>load<u32>(blocks) + valueOffset;
    if (kind === Q8) q8ScoresOne(queries, scale, keys, count, blockPositions, headSize, scores);
    else floatScoresOne(kind, queries, keys, count, headSize, scores);
    if (cap > 0) softCap(scores, cap, count);
    for (let p = 0; p < start - first; p++) store<f32>(scores + <usize>p * 4, -Infinity);

    let largest = highest;
    for (let p = 0; p < count; p++) largest = max(largest, load<f32>(scores + <usize>p * 4));
    // What was summed so far was relative to the highest score of then.
    const rescale = f32x4.extract_lane(exp4(f32x4.splat(highest - largest)), 0);
    highest = largest;
    let sum: f32 = 0;
    for (let p = 0; p < count; p += 4) {
      const at = scores + <usize>p * 4;
      v128.store(at, exp4(f32x4.sub(v128.load(at), f32x4.splat(highest))));
      // One after the other, as `attendFour` does it.
      const end = at + <usize>min(4, count - p) * 4;
      for (let weight = at; weight < end; weight += 4) sum += load<f32>(weight);
      for (let weight = end; weight < at + 16; weight += 4) store<f32>(weight, 0);
    }
    total = total * rescale + sum;
    if (kind === Q8) q8ValuesOne(scores, scaled, values, count, blockPositions, headSize, rescale, sums);
    else floatValuesOne(kind, scores, values, count, headSize, rescale, sums);
  }
  divide(sums, headSize, total, out);
}

/** Where there are less than four heads, the last one is computed again in place of each that is missing. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function attendFour(
  kind: i32,
  q: usize,
  headSize: i32,
  heads: i32,
  blocks: usize,
  blockPositions: i32,
  keyOffset: usize,
  valueOffset: usize,
  start: i32,
  position: i32,
  factor: f32,
  cap: f32,
  scratch: usize,
  out: usize,
): void {
  const queries = scratch;
  const sums = queries + <usize>padded(headSize) * 16;
  const scores = sums + <usize>padded(headSize) * 16;
  const scaled = scores + <usize>blockPositions * 16;
  memory.fill(sums, 0, <usize>padded(headSize) * 16);
  const scale =
    kind === Q8 ? quantizeQueries(4, q, headSize, heads, factor, queries) : loadQueries(4, q, headSize, heads, factor, queries);
  let highest = f32x4.splat(-Infinity);
  let total = f32x4.splat(0);
  const from = start - (start % blockPositions);
  blocks += <usize>(from / blockPositions) * 4;
  for (let first = from; first <= position; first += blockPositions, blocks += 4) {
    const count = min(blockPositions, position + 1 - first);
    const keys = <usize>load<u32>(blocks) + keyOffset;
    const values = <usize>load<u32>(blocks) + valueOffset;
    if (kind === Q8) q8ScoresFour(queries, scale, keys, count, blockPositions, headSize, scores);
    else floatScoresFour(kind, queries, keys, count, headSize, scores);
    if (cap > 0) softCap(scores, cap, count * 4);
    for (let p = 0; p < start - first; p++) v128.store(scores + <usize>p * 16, f32x4.splat(-Infinity));

    const end = scores + <usize>count * 16;
    let largest = highest;
    for (let at = scores; at < end; at += 16) largest = f32x4.max(largest, v128.load(at));
    const rescale = exp4(f32x4.sub(highest, largest));
    highest = largest;
    let sum = f32x4.splat(0);
    for (let at = scores; at < end; at += 16) {
      const weights = exp4(f32x4.sub(v128.load(at), highest));
      v128.store(at, weights);
      sum = f32x4.add(sum, weights);
    }
    for (let p = count; (p & 3) !== 0; p++) v128.store(scores + <usize>p * 16, f32x4.splat(0));
    total = f32x4.add(f32x4.mul(total, rescale), sum);
    if (kind === Q8) q8ValuesFour(scores, scaled, values, count, blockPositions, headSize, rescale, sums);
    else floatValuesFour(kind, scores, values, count, headSize, rescale, sums);
  }
  const headBytes = <usize>headSize * 4;
  const sumBytes = <usize>padded(headSize) * 4;
  divide(sums, headSize, f32x4.extract_lane(total, 0), out);
  divide(sums + sumBytes, headSize, f32x4.extract_lane(total, 1), out + headBytes);
  if (heads > 2) divide(sums + 2 * sumBytes, headSize, f32x4.extract_lane(total, 2), out + 2 * headBytes);
  if (heads > 3) divide(sums + 3 * sumBytes, headSize, f32x4.extract_lane(total, 3), out + 3 * headBytes);
}

/** out = sums / total */
function divide(sums: usize, headSize: i32, total: f32, out: usize): void {
  for (let i = 0; i < headSize; i += 4, out += 16) {
    const four = f32x4.div(loadColumns(sums, i, headSize), f32x4.splat(total));
    if (i + 4 <= headSize) v128.store(out, four);
    else {
      v128.store32_lane(out, four, 0);
      if (i + 1 < headSize) v128.store32_lane(out, four, 1, 4);
      if (i + 2 < headSize) v128.store32_lane(out, four, 2, 8);
    }
  }
}
