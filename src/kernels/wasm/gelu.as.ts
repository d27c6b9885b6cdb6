/**
 * GELU by tanh: v / (1 + e^-2u), u = sqrt(2 / π) (v + 0.044715 v³). Between -10 and 10 v and the result are rounded to
 * float16, as in llama.cpp's table.
 */
import { exp4 } from "./exp.as";
import { storeFirst } from "./rows.as";

/** -2 sqrt(2 / π), and the same times 0.044715 */
const LINEAR: f32 = -1.5957691216057308;
const CUBIC: f32 = -0.07135481627159996;

// @ts-expect-error: decorators of AssemblyScript
@inline
function gelu4(x: v128): v128 {
  const v = roundToHalf(x);
  const square = f32x4.mul(v, v);
  const exponent = f32x4.mul(v, f32x4.add(f32x4.splat(LINEAR), f32x4.mul(square, f32x4.splat(CUBIC))));
  const inner = roundToHalf(f32x4.div(v, f32x4.add(f32x4.splat(1), exp4(exponent))));
  const outer = f32x4.max(x, f32x4.splat(0));
  return v128.bitselect(inner, outer, f32x4.lt(f32x4.abs(x), f32x4.splat(10)));
}

/**
 * Values of no more than some thousands, rounded to the 11 bits of a float16: the upper part of Veltkamp's splitting
 * (1968). The smallest have a fixed step of 2^-24, which is that of float32 between 0.5 and 1.
 */
// @ts-expect-error: decorators of AssemblyScript
@inline
function roundToHalf(v: v128): v128 {
  const split = f32x4.mul(v, f32x4.splat(8193));
  const upper = f32x4.sub(split, f32x4.sub(split, v));
  const offset = f32x4.splat(0.75);
  const fixed = f32x4.sub(f32x4.add(v, offset), offset);
  return v128.bitselect(upper, fixed, f32x4.ge(f32x4.abs(v), f32x4.splat(0.00006103515625)));
}

/** gelu(gate) × up as they leave the panels, four values each in turn. */
export function geglu(gateUp: usize, count: i32, y: usize): void {
  for (let i = 0; i < count; i += 4, gateUp += 32, y += 16)
    storeFirst(y, f32x4.mul(gelu4(v128.load(gateUp)), v128.load(gateUp, 16)), count - i);
}

/** y = gelu(x); x may be read up to three values further. */
export function gelu(x: usize, count: i32, y: usize): void {
  for (let i = 0; i < count; i += 4, x += 16, y += 16) storeFirst(y, gelu4(v128.load(x)), count - i);
}
