/**
 * Attention of one head of one row: softmax(q·K / sqrt(headSize)) V over positions 0 … position, block by block with a
 * running maximum and sum (arXiv 1805.02867). Keys and values of a head lie in each block as (positions, headSize),
 * float32 or float16.
 */
import { exp4 } from "./exp.as";
import { halvesToFloats } from "./half.as";

/** float16 keys and values. See the parameters of `attend`. */
export function attentionF16(
  q: usize,
  headSize: i32,
  blocks: usize,
  blockPositions: i32,
  keyOffset: usize,
  valueOffset: usize,
  position: i32,
  scores: usize,
  out: usize,
): void {
  attend(true, q, headSize, blocks, blockPositions, keyOffset, valueOffset, position, scores, out);
}

/** float32 keys and values. */
export function attentionF32(
  q: usize,
  headSize: i32,
  blocks: usize,
  blockPositions: i32,
  keyOffset: usize,
  valueOffset: usize,
  position: i32,
  scores: usize,
  out: usize,
): void {
  attend(false, q, headSize, blocks, blockPositions, keyOffset, valueOffset, position, scores, out);
}

/** Round a row of float32 to float16, to the nearest, ties to even; too large values become infinite. */
export function storeHalves(x: usize, count: i32, to: usize): void {
  for (let i = 0; i < count; i++, x += 4, to += 2) store<u16>(to, toHalf(load<u32>(x)));
}

/**
 * @param blocks table of addresses of the blocks (uint32)
 * @param blockPositions a multiple of four
 * @param keyOffset of this head's keys in a block; likewise valueOffset
 * @param scores room for blockPositions float32
 * @param out (headSize)
 */
// @ts-expect-error: decorators of AssemblyScript
@inline
function attend(
  half: bool,
  q: usize,
  headSize: i32,
  blocks: usize,
  blockPositions: i32,
  keyOffset: usize,
  valueOffset: usize,
  position: i32,
  scores: usize,
  out: usize,
): void {
  const rowBytes = <usize>headSize * (half ? 2 : 4);
  const scale = <f32>(1 / Math.sqrt(<f64>headSize));
  let highest: f32 = -Infinity;
  let total: f32 = 0;
  for (let at: usize = 0; at < <usize>headSize * 4; at += 4) store<f32>(out + at, 0);
  for (let first = 0; first <= position; first += blockPositions, blocks += 4) {
    const count = min(blockPositions, position + 1 - first);
    const block = <usize>load<u32>(blocks);

    let largest = highest;
    for (let p = 0; p < count; p += 4) {
      const four = f32x4.mul(
        fourDots(half, q, block + keyOffset + <usize>p * rowBytes, rowBytes, headSize),
        f32x4.splat(scale),
      );
      v128.store(scores + <usize>p * 4, four);
    }
    for (let p = 0; p < count; p++) largest = max(largest, load<f32>(scores + <usize>p * 4));

    // Positions that fill up a group of four weigh nothing.
    for (let p = count; (p & 3) !== 0; p++) store<f32>(scores + <usize>p * 4, -Infinity);
    // What was summed so far was relative to the highest score of then.
    const rescale = first === 0 ? <f32>0 : f32x4.extract_lane(exp4(f32x4.splat(highest - largest)), 0);
    highest = largest;
    let sums = f32x4.splat(0);
    for (let p = 0; p < count; p += 4) {
      const weights = exp4(f32x4.sub(v128.load(scores + <usize>p * 4), f32x4.splat(highest)));
      v128.store(scores + <usize>p * 4, weights);
      sums = f32x4.add(sums, weights);
    }
    total =
      total * rescale +
      (f32x4.extract_lane(sums, 0) + f32x4.extract_lane(sums, 1)) +
      (f32x4.extract_lane(sums, 2) + f32x4.extract_lane(sums, 3));
    addValues(half, scores, count, block + valueOffset, rowBytes, headSize, rescale, out);
  }
  for (let i = 0; i < headSize; i++) store<f32>(out + <usize>i * 4, load<f32>(out + <usize>i * 4) / total);
}

/** q·k for four keys that follow each other. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function fourDots(half: bool, q: usize, key: usize, rowBytes: usize, headSize: i32): v128 {
  let a = f32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  const step: usize = half ? 8 : 16;
  let i = 0;
  for (; i + 4 <= headSize; i += 4, q += 16, key += step) {
    const x = v128.load(q);
    a = f32x4.add(a, f32x4.mul(x, loadFour(half, key)));
    b = f32x4.add(b, f32x4.mul(x, loadFour(half, key + rowBytes)));
    c = f32x4.add(c, f32x4.mul(x, loadFour(half, key + 2 * rowBytes)));
    d = f32x4.add(d, f32x4.mul(x, loadFour(half, key + 3 * rowBytes)));
  }
  // Sum up each of the four: transpose, then add.
  const ab = f32x4.add(v128.shuffle<f32>(a, b, 0, 4, 1, 5), v128.shuffle<f32>(a, b, 2, 6, 3, 7));
  const cd = f32x4.add(v128.shuffle<f32>(c, d, 0, 4, 1, 5), v128.shuffle<f32>(c, d, 2, 6, 3, 7));
  let dots = f32x4.add(v128.shuffle<f32>(ab, cd, 0, 1, 4, 5), v128.shuffle<f32>(ab, cd, 2, 3, 6, 7));
  for (; i < headSize; i++, q += 4, key += step / 4) {
    let column = f32x4.splat(loadOne(half, key));
    column = f32x4.replace_lane(column, 1, loadOne(half, key + rowBytes));
    column = f32x4.replace_lane(column, 2, loadOne(half, key + 2 * rowBytes));
    column = f32x4.replace_lane(column, 3, loadOne(half, key + 3 * rowBytes));
    dots = f32x4.add(dots, f32x4.mul(column, v128.load32_splat(q)));
  }
  return dots;
}

/** out = out × rescale + Σ weight × value, sixteen columns at a time as long as there are so many. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function addValues(
  half: bool,
  weights: usize,
  count: i32,
  values: usize,
  rowBytes: usize,
  headSize: i32,
  rescale: f32,
  out: usize,
): void {
  const end = weights + <usize>count * 4;
  const factor = f32x4.splat(rescale);
  const step: usize = half ? 8 : 16;
  let i = 0;
  for (; i + 16 <= headSize; i += 16, values += 4 * step, out += 64) {
    let a = f32x4.mul(v128.load(out), factor);
    let b = f32x4.mul(v128.load(out, 16), factor);
    let c = f32x4.mul(v128.load(out, 32), factor);
    let d = f32x4.mul(v128.load(out, 48), factor);
    let value = values;
    for (let w = weights; w < end; w += 4, value += rowBytes) {
      const weight = v128.load32_splat(w);
      a = f32x4.add(a, f32x4.mul(weight, loadFour(half, value)));
      b = f32x4.add(b, f32x4.mul(weight, loadFour(half, value + step)));
      c = f32x4.add(c, f32x4.mul(weight, loadFour(half, value + 2 * step)));
      d = f32x4.add(d, f32x4.mul(weight, loadFour(half, value + 3 * step)));
    }
    v128.store(out, a);
    v128.store(out, b, 16);
    v128.store(out, c, 32);
    v128.store(out, d, 48);
  }
  for (; i < headSize; i++, values += step / 4, out += 4) {
    let sum = load<f32>(out) * rescale;
    let value = values;
    for (let w = weights; w < end; w += 4, value += rowBytes) sum += load<f32>(w) * loadOne(half, value);
    store<f32>(out, sum);
  }
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function loadFour(half: bool, address: usize): v128 {
  return half ? halvesToFloats(v128.load64_zero(address)) : v128.load(address);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function loadOne(half: bool, address: usize): f32 {
  return half
    ? f32x4.extract_lane(halvesToFloats(v128.load16_splat(address)), 0)
    : load<f32>(address);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function toHalf(bits: u32): u16 {
  const sign = <u16>((bits >> 16) & 0x8000);
  const magnitude = bits & 0x7fffffff;
  // From 65520 on it is nearer to the infinite than to the largest; NaN stays NaN.
  if (magnitude >= 0x477ff000) return sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00);
  // Below 2^-14 halves are multiples of 2^-24: adding 0.5 leaves just these in the lowest bits.
  if (magnitude < 0x38800000)
    return sign | <u16>(reinterpret<u32>(reinterpret<f32>(magnitude) + 0.5) - 0x3f000000);
  const odd = (magnitude >> 13) & 1;
  return sign | <u16>((magnitude - 0x38000000 + 0xfff + odd) >> 13);
}
