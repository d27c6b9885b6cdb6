/** The products of attention with float16 or float32 keys and values, which lie as (positions, headSize). */
import { halvesToFloats } from "./half.as";
import { F16, loadColumns, padded, toHalf } from "./kv-layout.as";

/** Round a row of float32 to float16. */
export function storeHalves(x: usize, count: i32, to: usize): void {
  for (let i = 0; i < count; i++, x += 4, to += 2) store<u16>(to, toHalf(load<u32>(x)));
}

/**
 * q × factor, as (columns / 4, lanes, 4): for each four columns those of one or four heads. Returns nothing of
 * use, for it stands beside `quantizeQueries`.
 */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function loadQueries(lanes: i32, q: usize, headSize: i32, heads: i32, factor: f32, to: usize): v128 {
  const scale = f32x4.splat(factor);
  for (let i = 0; i < headSize; i += 4)
    for (let head = 0; head < lanes; head++, to += 16) {
      const row = q + <usize>(min(head, heads - 1) * headSize) * 4;
      v128.store(to, f32x4.mul(loadColumns(row, i, headSize), scale));
    }
  return scale;
}

/** Scores of one head: four keys at a time, so that up to three scores behind `count` are nonsense. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function floatScoresOne(kind: i32, q: usize, keys: usize, count: i32, headSize: i32, scores: usize): void {
  const rowBytes = <usize>headSize * bytesOf(kind);
  for (let p = 0; p < count; p += 4, keys += 4 * rowBytes, scores += 16) {
    let a = f32x4.splat(0);
    let b = a;
    let c = a;
    let d = a;
    let key = keys;
    let x = q;
    let i = 0;
    for (; i + 4 <= headSize; i += 4, x += 16, key += 4 * bytesOf(kind)) {
      const four = v128.load(x);
      a = f32x4.add(a, f32x4.mul(four, loadFour(kind, key)));
      b = f32x4.add(b, f32x4.mul(four, loadFour(kind, key + rowBytes)));
      c = f32x4.add(c, f32x4.mul(four, loadFour(kind, key + 2 * rowBytes)));
      d = f32x4.add(d, f32x4.mul(four, loadFour(kind, key + 3 * rowBytes)));
    }
    let dots = sumEach(a, b, c, d);
    for (; i < headSize; i++, x += 4, key += bytesOf(kind)) {
      let column = f32x4.splat(loadOne(kind, key));
      column = f32x4.replace_lane(column, 1, loadOne(kind, key + rowBytes));
      column = f32x4.replace_lane(column, 2, loadOne(kind, key + 2 * rowBytes));
      column = f32x4.replace_lane(column, 3, loadOne(kind, key + 3 * rowBytes));
      dots = f32x4.add(dots, f32x4.mul(column, v128.load32_splat(x)));
    }
    v128.store(scores, dots);
  }
}

/** Scores of four heads: two keys at a time, so that one score of each behind `count` may be nonsense. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function floatScoresFour(kind: i32, q: usize, keys: usize, count: i32, headSize: i32, scores: usize): void {
  const rowBytes = <usize>headSize * bytesOf(kind);
  for (let p = 0; p < count; p += 2, keys += 2 * rowBytes, scores += 32) {
    let a0 = f32x4.splat(0);
    let b0 = a0;
    let c0 = a0;
    let d0 = a0;
    let a1 = a0;
    let b1 = a0;
    let c1 = a0;
    let d1 = a0;
    let key = keys;
    let x = q;
    let i = 0;
    for (; i + 4 <= headSize; i += 4, x += 64, key += 4 * bytesOf(kind)) {
      const key0 = loadFour(kind, key);
      const key1 = loadFour(kind, key + rowBytes);
      let four = v128.load(x);
      a0 = f32x4.add(a0, f32x4.mul(four, key0));
      a1 = f32x4.add(a1, f32x4.mul(four, key1));
      four = v128.load(x, 16);
      b0 = f32x4.add(b0, f32x4.mul(four, key0));
      b1 = f32x4.add(b1, f32x4.mul(four, key1));
      four = v128.load(x, 32);
      c0 = f32x4.add(c0, f32x4.mul(four, key0));
      c1 = f32x4.add(c1, f32x4.mul(four, key1));
      four = v128.load(x, 48);
      d0 = f32x4.add(d0, f32x4.mul(four, key0));
      d1 = f32x4.add(d1, f32x4.mul(four, key1));
    }
    let dots0 = sumEach(a0, b0, c0, d0);
    let dots1 = sumEach(a1, b1, c1, d1);
    for (; i < headSize; i++, x += 4, key += bytesOf(kind)) {
      let column = v128.load32_splat(x);
      column = v128.load32_lane(x, column, 1, 16);
      column = v128.load32_lane(x, column, 2, 32);
      column = v128.load32_lane(x, column, 3, 48);
      dots0 = f32x4.add(dots0, f32x4.mul(column, f32x4.splat(loadOne(kind, key))));
      dots1 = f32x4.add(dots1, f32x4.mul(column, f32x4.splat(loadOne(kind, key + rowBytes))));
    }
    v128.store(scores, dots0);
    v128.store(scores, dots1, 16);
  }
}

/** sums = sums × rescale + Σ weight × value of one head, sixteen columns at a time as long as there are so many. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function floatValuesOne(
  kind: i32,
  weights: usize,
  values: usize,
  count: i32,
  headSize: i32,
  rescale: f32,
  sums: usize,
): void {
  const rowBytes = <usize>headSize * bytesOf(kind);
  const end = weights + <usize>count * 4;
  const factor = f32x4.splat(rescale);
  const step = bytesOf(kind) * 4;
  let i = 0;
  for (; i + 16 <= headSize; i += 16, values += 4 * step, sums += 64) {
    let a = f32x4.mul(v128.load(sums), factor);
    let b = f32x4.mul(v128.load(sums, 16), factor);
    let c = f32x4.mul(v128.load(sums, 32), factor);
    let d = f32x4.mul(v128.load(sums, 48), factor);
    let value = values;
    for (let w = weights; w < end; w += 4, value += rowBytes) {
      const weight = v128.load32_splat(w);
      a = f32x4.add(a, f32x4.mul(weight, loadFour(kind, value)));
      b = f32x4.add(b, f32x4.mul(weight, loadFour(kind, value + step)));
      c = f32x4.add(c, f32x4.mul(weight, loadFour(kind, value + 2 * step)));
      d = f32x4.add(d, f32x4.mul(weight, loadFour(kind, value + 3 * step)));
    }
    v128.store(sums, a);
    v128.store(sums, b, 16);
    v128.store(sums, c, 32);
    v128.store(sums, d, 48);
  }
  for (; i < headSize; i++, values += bytesOf(kind), sums += 4) {
    let sum = load<f32>(sums) * rescale;
    let value = values;
    for (let w = weights; w < end; w += 4, value += rowBytes) sum += load<f32>(w) * loadOne(kind, value);
    store<f32>(sums, sum);
  }
}

/** The same of four heads, eight columns at a time as long as there are so many. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function floatValuesFour(
  kind: i32,
  weights: usize,
  values: usize,
  count: i32,
  headSize: i32,
  rescale: v128,
  sums: usize,
): void {
  const rowBytes = <usize>headSize * bytesOf(kind);
  const sumBytes = <usize>padded(headSize) * 4;
  const end = weights + <usize>count * 16;
  const step = bytesOf(kind) * 4;
  let i = 0;
  for (; i + 8 <= headSize; i += 8, values += 2 * step, sums += 32) {
    let factor = v128.shuffle<f32>(rescale, rescale, 0, 0, 0, 0);
    let a0 = f32x4.mul(v128.load(sums), factor);
    let a1 = f32x4.mul(v128.load(sums, 16), factor);
    factor = v128.shuffle<f32>(rescale, rescale, 1, 1, 1, 1);
    let b0 = f32x4.mul(v128.load(sums + sumBytes), factor);
    let b1 = f32x4.mul(v128.load(sums + sumBytes, 16), factor);
    factor = v128.shuffle<f32>(rescale, rescale, 2, 2, 2, 2);
    let c0 = f32x4.mul(v128.load(sums + 2 * sumBytes), factor);
    let c1 = f32x4.mul(v128.load(sums + 2 * sumBytes, 16), factor);
    factor = v128.shuffle<f32>(rescale, rescale, 3, 3, 3, 3);
    let d0 = f32x4.mul(v128.load(sums + 3 * sumBytes), factor);
    let d1 = f32x4.mul(v128.load(sums + 3 * sumBytes, 16), factor);
    let value = values;
    for (let w = weights; w < end; w += 16, value += rowBytes) {
      const value0 = loadFour(kind, value);
      const value1 = loadFour(kind, value + step);
      let weight = v128.load32_splat(w);
      a0 = f32x4.add(a0, f32x4.mul(weight, value0));
      a1 = f32x4.add(a1, f32x4.mul(weight, value1));
      weight = v128.load32_splat(w, 4);
      b0 = f32x4.add(b0, f32x4.mul(weight, value0));
      b1 = f32x4.add(b1, f32x4.mul(weight, value1));
      weight = v128.load32_splat(w, 8);
      c0 = f32x4.add(c0, f32x4.mul(weight, value0));
      c1 = f32x4.add(c1, f32x4.mul(weight, value1));
      weight = v128.load32_splat(w, 12);
      d0 = f32x4.add(d0, f32x4.mul(weight, value0));
      d1 = f32x4.add(d1, f32x4.mul(weight, value1));
    }
    v128.store(sums, a0);
    v128.store(sums, a1, 16);
    v128.store(sums + sumBytes, b0);
    v128.store(sums + sumBytes, b1, 16);
    v128.store(sums + 2 * sumBytes, c0);
    v128.store(sums + 2 * sumBytes, c1, 16);
    v128.store(sums + 3 * sumBytes, d0);
    v128.store(sums + 3 * sumBytes, d1, 16);
  }
  for (; i < headSize; i++, values += bytesOf(kind), sums += 4) {
    let four = v128.load32_zero(sums);
    four = v128.load32_lane(sums + sumBytes, four, 1);
    four = v128.load32_lane(sums + 2 * sumBytes, four, 2);
    four = v128.load32_lane(sums + 3 * sumBytes, four, 3);
    four = f32x4.mul(four, rescale);
    let value = values;
    for (let w = weights; w < end; w += 16, value += rowBytes)
      four = f32x4.add(four, f32x4.mul(v128.load(w), f32x4.splat(loadOne(kind, value))));
    v128.store32_lane(sums, four, 0);
    v128.store32_lane(sums + sumBytes, four, 1);
    v128.store32_lane(sums + 2 * sumBytes, four, 2);
    v128.store32_lane(sums + 3 * sumBytes, four, 3);
  }
}

/** The sum of each of four vectors: transposed, then added. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function sumEach(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = f32x4.add(v128.shuffle<f32>(a, b, 0, 4, 1, 5), v128.shuffle<f32>(a, b, 2, 6, 3, 7));
  const cd = f32x4.add(v128.shuffle<f32>(c, d, 0, 4, 1, 5), v128.shuffle<f32>(c, d, 2, 6, 3, 7));
  return f32x4.add(v128.shuffle<f32>(ab, cd, 0, 1, 4, 5), v128.shuffle<f32>(ab, cd, 2, 3, 6, 7));
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function bytesOf(kind: i32): usize {
  return kind === F16 ? 2 : 4;
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function loadFour(kind: i32, address: usize): v128 {
  return kind === F16 ? halvesToFloats(v128.load64_zero(address)) : v128.load(address);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function loadOne(kind: i32, address: usize): f32 {
  return kind === F16
    ? f32x4.extract_lane(halvesToFloats(v128.load16_splat(address)), 0)
    : load<f32>(address);
}
