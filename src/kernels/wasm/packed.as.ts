/** What the packed dtypes are made of: their codes, levels and scales. The layout is told in store/packed-panel.ts. */
import { anyHalvesToFloats } from "./half.as";

/** The dtypes, as PACKED_DTYPES counts them. They are known when the kernels are compiled: each gets its own. */
export type Packed = i32;
export const Q4_1: Packed = 0;
export const Q5_0: Packed = 1;
export const Q5_1: Packed = 2;
export const IQ4_NL: Packed = 3;
export const MXFP4: Packed = 4;
export const Q4_K: Packed = 5;
export const Q5_K: Packed = 6;
export const Q6_K: Packed = 7;
export const IQ4_XS: Packed = 8;

/** Bytes of the upper bits of a group. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function upperBytes(type: Packed): usize {
  if (type === Q6_K) return 32;
  return type === Q5_0 || type === Q5_1 || type === Q5_K ? 16 : 0;
}

/** Bytes of the scales behind a group, where they are not in a head. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function tailBytes(type: Packed): usize {
  return type === MXFP4 ? 4 : type === Q4_1 || type === Q5_1 ? 16 : 8;
}

// @ts-expect-error: decorators of AssemblyScript
@inline
export function hasMinimum(type: Packed): bool {
  return type === Q4_1 || type === Q5_1 || type === Q4_K || type === Q5_K;
}

/** Bytes of a panel of so many columns. */
export function packedPanelBytes(type: Packed, columns: i32): usize {
  if (type === Q4_K) return <usize>(columns / 256) * 576;
  if (type === Q5_K) return <usize>(columns / 256) * 704;
  if (type === Q6_K) return <usize>(columns / 256) * 840;
  if (type === IQ4_XS) return <usize>(columns / 256) * 544;
  return <usize>(columns / 32) * (64 + upperBytes(type) + tailBytes(type));
}

/**
 * The upper bits of a group's halves, those of the first quad where `upperOf` looks for them; each next quad's lie
 * `upperStep` bits further up.
 *
 * @param half 0 for the first 16 columns, 1 for the others
 */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function upperBits(type: Packed, group: usize, half: i32): v128 {
  if (type === Q6_K) return half === 0 ? v128.load(group, 64) : v128.load(group, 80);
  if (upperBytes(type) === 0) return i8x16.splat(0);
  const bits = v128.load(group, 64);
  return half === 0 ? bits : i16x8.shr_u(bits, 4);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
export function nextQuad(type: Packed, bits: v128): v128 {
  return upperBytes(type) === 0 ? bits : i16x8.shr_u(bits, type === Q6_K ? 2 : 1);
}

/**
 * The codes of a quad: (4 rows, 4 columns) of 4 to 6 bits.
 *
 * @param pairs the vector with its low bits
 * @param bits as `upperBits` gives them, for this quad
 */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function codes(type: Packed, pairs: v128, bits: v128, half: i32): v128 {
  const low = v128.and(half === 0 ? pairs : i16x8.shr_u(pairs, 4), i8x16.splat(15));
  if (upperBytes(type) === 0) return low;
  // Bits that come over from the byte beside are masked out.
  return v128.or(low, v128.and(i16x8.shl(bits, 4), i8x16.splat(type === Q6_K ? 0x30 : 0x10)));
}

/** What codes count from, where they are numbers. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function center(type: Packed): i32 {
  if (type === Q6_K) return 32;
  return type === Q5_0 ? 16 : 0;
}

/** The integers that codes stand for: int8. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function quad(type: Packed, pairs: v128, bits: v128, half: i32): v128 {
  const found = codes(type, pairs, bits, half);
  if (type === IQ4_NL || type === IQ4_XS)
    return i8x16.swizzle(
      i8x16(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113),
      found,
    );
  if (type === MXFP4)
    return i8x16.swizzle(i8x16(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12), found);
  return center(type) > 0 ? i8x16.sub(found, i8x16.splat(<i8>center(type))) : found;
}

/** The four rows' scales behind a group. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function tailScale(type: Packed, tail: usize): v128 {
  if (type !== MXFP4) return anyHalvesToFloats(v128.load64_zero(tail));
  // 2^(e - 128), whose least two have no exponent of their own.
  const e = i32x4.extend_low_i16x8_u(i16x8.extend_low_i8x16_u(v128.load32_zero(tail)));
  const normal = i32x4.shl(i32x4.sub(e, i32x4.splat(1)), 23);
  const denormal = i32x4.shl(i32x4.add(e, i32x4.splat(1)), 21);
  return v128.bitselect(denormal, normal, i32x4.lt_s(e, i32x4.splat(2)));
}

/** Byte k of the four rows, of 12 or 16 bytes, widened. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function byteOfRows(bytes: v128, k: i32): v128 {
  const zero = i8x16.splat(0);
  if (k === 0) return v128.shuffle<i8>(bytes, zero, 0, 16, 16, 16, 1, 16, 16, 16, 2, 16, 16, 16, 3, 16, 16, 16);
  if (k === 1) return v128.shuffle<i8>(bytes, zero, 4, 16, 16, 16, 5, 16, 16, 16, 6, 16, 16, 16, 7, 16, 16, 16);
  return v128.shuffle<i8>(bytes, zero, 8, 16, 16, 16, 9, 16, 16, 16, 10, 16, 16, 16, 11, 16, 16, 16);
}

/** Number k of the four rows, of four numbers of six bits: int32. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function sixBits(bytes: v128, k: i32): v128 {
  if (k < 3) return v128.and(byteOfRows(bytes, k), i32x4.splat(63));
  return v128.or(
    i32x4.shr_u(byteOfRows(bytes, 0), 6),
    v128.or(
      i32x4.shl(i32x4.shr_u(byteOfRows(bytes, 1), 6), 2),
      i32x4.shl(i32x4.shr_u(byteOfRows(bytes, 2), 6), 4),
    ),
  );
}
