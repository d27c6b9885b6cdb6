/**
 * Keys and values of 8 bits on their way into the KV cache.
 *
 * Keys lie as (positions / 4, columns / 4, 4 positions, 4 columns), as in a q8 panel; values as (positions / 2, columns,
 * 2 positions), so that a product of pairs adds up positions. Behind either lie the scales, a float16 for 32 columns of a
 * position: of keys (positions / 4, columns / 32, 4), of values (columns / 32, positions).
 */
import { anyHalvesToFloats } from "./half.as";
import { largestOf, loadColumns, padded, toHalf } from "./kv-layout.as";
import { BLOCK } from "./layout.as";

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
