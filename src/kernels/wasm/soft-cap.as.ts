/** Soft-capping: x = cap × tanh(x / cap), four values at a time; up to three behind the last may change too. */
import { exp4 } from "./exp.as";

export function softCap(x: usize, cap: f32, count: i32): void {
  const caps = f32x4.splat(cap);
  const twice = f32x4.splat(2 / cap);
  const one = f32x4.splat(1);
  const two = f32x4.splat(2);
  for (const end = x + <usize>count * 4; x < end; x += 16) {
    // tanh(v) = 1 - 2 / (e^2v + 1)
    const grown = exp4(f32x4.mul(v128.load(x), twice));
    v128.store(x, f32x4.mul(caps, f32x4.sub(one, f32x4.div(two, f32x4.add(grown, one)))));
  }
}
