/** What is done to one row of activations at a time. */
import { exp4 } from "./exp.as";

/** RMSNorm: y = x / sqrt(mean(x²) + epsilon) × weight. The squares are summed in float64. */
export function rmsNorm(x: usize, weight: usize, width: i32, epsilon: f64, y: usize): void {
  const bytes = <usize>width * 4;
  let sums = f64x2.splat(0);
  let at: usize = 0;
  for (; at + 16 <= bytes; at += 16) {
    const v = v128.load(x + at);
    const low = f64x2.promote_low_f32x4(v);
    const high = f64x2.promote_low_f32x4(v128.shuffle<f32>(v, v, 2, 3, 0, 1));
    sums = f64x2.add(sums, f64x2.add(f64x2.mul(low, low), f64x2.mul(high, high)));
  }
  let sum = f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1);
  for (; at < bytes; at += 4) {
    const v = <f64>load<f32>(x + at);
    sum += v * v;
  }
  const scale = <f32>(1 / Math.sqrt(sum / <f64>width + epsilon));
  const scales = f32x4.splat(scale);
  for (at = 0; at + 16 <= bytes; at += 16)
    v128.store(y + at, f32x4.mul(f32x4.mul(v128.load(x + at), scales), v128.load(weight + at)));
  for (; at < bytes; at += 4) store<f32>(y + at, load<f32>(x + at) * scale * load<f32>(weight + at));
}

/** LayerNorm without its bias: y = (x - mean) / sqrt(variance + epsilon) × weight, with sums in float64. */
export function layerNorm(x: usize, weight: usize, width: i32, epsilon: f64, y: usize): void {
  const bytes = <usize>width * 4;
  let sum: f64 = 0;
  for (let at: usize = 0; at < bytes; at += 4) sum += <f64>load<f32>(x + at);
  const mean = sum / <f64>width;
  let squares: f64 = 0;
  for (let at: usize = 0; at < bytes; at += 4) {
    const v = <f64>load<f32>(x + at) - mean;
    squares += v * v;
  }
  const scale = 1 / Math.sqrt(squares / <f64>width + epsilon);
  for (let at: usize = 0; at < bytes; at += 4)
    store<f32>(y + at, <f32>((<f64>load<f32>(x + at) - mean) * scale) * load<f32>(weight + at));
}

/** x *= factor */
export function scale(x: usize, factor: f32, count: i32): void {
  for (const end = x + <usize>count * 4; x < end; x += 4) store<f32>(x, load<f32>(x) * factor);
}

/** y += x */
export function add(x: usize, y: usize, count: i32): void {
  const bytes = <usize>count * 4;
  let at: usize = 0;
  for (; at + 16 <= bytes; at += 16) v128.store(y + at, f32x4.add(v128.load(y + at), v128.load(x + at)));
  for (; at < bytes; at += 4) store<f32>(y + at, load<f32>(y + at) + load<f32>(x + at));
}

/** SwiGLU over gate and up as they leave the panels, four values each in turn. Whole panels are written. */
export function swiglu(gateUp: usize, count: i32, y: usize): void {
  const one = f32x4.splat(1);
  for (let i = 0; i < count; i += 4, gateUp += 32, y += 16) {
    const gate = v128.load(gateUp);
    const silu = f32x4.div(gate, f32x4.add(one, exp4(f32x4.neg(gate))));
    const value = f32x4.mul(silu, v128.load(gateUp, 16));
    storeFirst(y, value, count - i);
  }
}

/** Store as many of four values as there are. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function storeFirst(y: usize, value: v128, lanes: i32): void {
  if (lanes >= 4) {
    v128.store(y, value);
    return;
  }
  v128.store32_lane(y, value, 0);
  if (lanes > 1) v128.store32_lane(y + 4, value, 1);
  if (lanes > 2) v128.store32_lane(y + 8, value, 2);
}

/** Rotate pairs of each head, (2i, 2i+1) or (i, i + dimensions/2); table has cosine and sine of each pair in turn. */
export function rope(
  x: usize,
  heads: i32,
  headSize: i32,
  table: usize,
  dimensions: i32,
  neox: bool,
): void {
  const bytes = <usize>dimensions * 4;
  const partner: usize = neox ? bytes / 2 : 4;
  for (let head = 0; head < heads; head++) {
    let first = x + <usize>head * <usize>headSize * 4;
    for (let at: usize = 0; at < bytes; at += 8, first += neox ? 4 : 8) {
      const cos = load<f32>(table + at);
      const sin = load<f32>(table + at, 4);
      const a = load<f32>(first);
      const b = load<f32>(first + partner);
      store<f32>(first, a * cos - b * sin);
      store<f32>(first + partner, a * sin + b * cos);
    }
  }
}
