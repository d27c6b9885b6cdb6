/**
 * Four float16 in the low half of a vector as float32, denormal ones too: 2^112 moves the exponent into place.
 * Infinite ones and NaN become finite, from 65536 up: see `anyHalvesToFloats`.
 */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function halvesToFloats(halves: v128): v128 {
  const shifted = i32x4.shl(i32x4.extend_low_i16x8_s(halves), 13);
  return f32x4.mul(v128.and(shifted, i32x4.splat(0x8fffe000)), f32x4.splat(5.192296858534828e33));
}

/** The same of four float16 in the upper halves of the lanes, the lower ones being zero. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function upperHalvesToFloats(halves: v128): v128 {
  const shifted = i32x4.shr_s(halves, 3);
  return f32x4.mul(v128.and(shifted, i32x4.splat(0x8fffe000)), f32x4.splat(5.192296858534828e33));
}

/** As `halvesToFloats` for all float16: infinite ones and NaN too. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function anyHalvesToFloats(halves: v128): v128 {
  const floats = halvesToFloats(halves);
  const notFinite = f32x4.ge(f32x4.abs(floats), f32x4.splat(65536));
  return v128.or(floats, v128.and(notFinite, i32x4.splat(0x7f800000)));
}

/** The larger one of each two float16 but for the sign: to see in the end, by `areFinite`, whether all were finite. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function largerMagnitudes(largest: v128, halves: v128): v128 {
  return i16x8.max_u(largest, v128.and(halves, i16x8.splat(0x7fff)));
}

// @ts-expect-error: decorators of AssemblyScript
@inline
export function areFinite(magnitudes: v128): bool {
  return !v128.any_true(i16x8.ge_u(magnitudes, i16x8.splat(0x7c00)));
}

/** As `halvesToFloats` for those that are positive (or zero) and finite. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function positiveHalvesToFloats(halves: v128): v128 {
  return f32x4.mul(i32x4.shl(i32x4.extend_low_i16x8_u(halves), 13), f32x4.splat(5.192296858534828e33));
}

/** Whether they are, of the largest of them as unsigned integers. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function arePositive(largest: v128): bool {
  return !v128.any_true(i16x8.ge_u(largest, i16x8.splat(0x7c00)));
}
