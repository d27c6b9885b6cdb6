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

/**
 * As `halvesToFloats` for all float16, infinite ones and NaN too, and as fast for denormal ones: what multiplies a
 * denormal float32 takes a processor ten times as long.
 *
 * Instead of a factor the exponent n gets 112 added. That is right for normal ones. A denormal one, m × 2^-24, becomes
 * n = 2^-15 + m × 2^-25, of which 2n - 2^-14 is right; for normal ones that is more than n. So the lesser one is right.
 */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function anyHalvesToFloats(halves: v128): v128 {
  const shifted = i32x4.shl(i32x4.extend_low_i16x8_s(halves), 13);
  const n = i32x4.add(v128.and(shifted, i32x4.splat(0x0fffe000)), i32x4.splat(0x38000000));
  const magnitude = f32x4.pmin(n, f32x4.sub(f32x4.add(n, n), f32x4.splat(6.103515625e-5)));
  const notFinite = v128.and(f32x4.ge(n, f32x4.splat(65536)), i32x4.splat(0x7f800000));
  return v128.or(v128.or(magnitude, notFinite), v128.and(shifted, i32x4.splat(0x80000000)));
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

/** Four float16 in the low half of a vector as float32, where they are positive and normal: see `areUsual`. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function usualHalvesToFloats(halves: v128): v128 {
  return i32x4.add(i32x4.shl(i32x4.extend_low_i16x8_u(halves), 13), i32x4.splat(0x38000000));
}

/** The largest of each two, counted from the least that is normal: to see in the end, by `areUsual`, whether all were. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function largerSteps(largest: v128, halves: v128): v128 {
  return i16x8.max_u(largest, i16x8.sub(halves, i16x8.splat(0x400)));
}

/** Whether all of the low half were positive, normal and finite (or, of magnitudes, all but the first). */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function areUsual(largest: v128): bool {
  return i64x2.extract_lane(i16x8.ge_u(largest, i16x8.splat(0x7800)), 0) === 0;
}
