/** How keys and values lie in a block is told in kernels/kv-layout.ts. */

/** What activations are rounded to at most where they take 16 bits. */
export const INT16_LIMIT: f32 = 32767;
export const F32: i32 = 0;
export const F16: i32 = 1;
export const Q8: i32 = 2;

/** Columns of a head that there is room for, where there are more than it has: a multiple of eight. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function padded(headSize: i32): i32 {
  return (headSize + 7) & ~7;
}

/** Four columns of a row of float32, zeros behind its end. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function loadColumns(row: usize, column: i32, columns: i32): v128 {
  const at = row + <usize>column * 4;
  if (column + 4 <= columns) return v128.load(at);
  let four = f32x4.splat(0);
  if (column < columns) four = v128.load32_lane(at, four, 0);
  if (column + 1 < columns) four = v128.load32_lane(at, four, 1, 4);
  if (column + 2 < columns) four = v128.load32_lane(at, four, 2, 8);
  return four;
}

/** Four vectors as the rows of a matrix, and those of its transpose: one of each four lanes. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function storeTransposed(a: v128, b: v128, c: v128, d: v128, to: usize): void {
  const ab = v128.shuffle<f32>(a, b, 0, 4, 1, 5);
  const cd = v128.shuffle<f32>(c, d, 0, 4, 1, 5);
  v128.store(to, v128.shuffle<f32>(ab, cd, 0, 1, 4, 5));
  v128.store(to, v128.shuffle<f32>(ab, cd, 2, 3, 6, 7), 16);
  const upperAb = v128.shuffle<f32>(a, b, 2, 6, 3, 7);
  const upperCd = v128.shuffle<f32>(c, d, 2, 6, 3, 7);
  v128.store(to, v128.shuffle<f32>(upperAb, upperCd, 0, 1, 4, 5), 32);
  v128.store(to, v128.shuffle<f32>(upperAb, upperCd, 2, 3, 6, 7), 48);
}

/** Round float32 (as bits) to float16, to the nearest, ties to even; too large values become infinite. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function toHalf(bits: u32): u16 {
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

/** The largest magnitude of columns [first, end). */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function largestOf(x: usize, first: i32, end: i32, headSize: i32): f32 {
  let largest = f32x4.splat(0);
  for (let i = first; i < end; i += 4) largest = f32x4.max(largest, f32x4.abs(loadColumns(x, i, headSize)));
  largest = f32x4.max(largest, v128.shuffle<f32>(largest, largest, 2, 3, 0, 1));
  largest = f32x4.max(largest, v128.shuffle<f32>(largest, largest, 1, 0, 3, 2));
  return f32x4.extract_lane(largest, 0);
}
