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

/** The same for all float16: infinite ones and NaN too. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function anyHalvesToFloats(halves: v128): v128 {
  const floats = halvesToFloats(halves);
  const notFinite = f32x4.ge(f32x4.abs(floats), f32x4.splat(65536));
  return v128.or(floats, v128.and(notFinite, i32x4.splat(0x7f800000)));
}
