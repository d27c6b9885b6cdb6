/** GELU by tanh: v / (1 + e^-2u), u = sqrt(2 / π) (v + 0.044715 v³). */
import { exp4 } from "./exp.as";
import { storeFirst } from "./rows.as";

/** -2 sqrt(2 / π), and the same times 0.044715 */
const LINEAR: f32 = -1.5957691216057308;
const CUBIC: f32 = -0.07135481627159996;

// @ts-expect-error: decorators of AssemblyScript
@inline
function gelu4(v: v128): v128 {
  const square = f32x4.mul(v, v);
  const exponent = f32x4.mul(v, f32x4.add(f32x4.splat(LINEAR), f32x4.mul(square, f32x4.splat(CUBIC))));
  return f32x4.div(v, f32x4.add(f32x4.splat(1), exp4(exponent)));
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
