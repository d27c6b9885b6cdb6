/**
 * Scales for groups of 16 or 32 weights: those with the least sum of squared errors, among candidates around the one
 * that just spans the group. Each candidate rounds the weights, and takes the best scale for these codes by least
 * squares. A module of its own: only quantizing needs it.
 */

/** How far candidates go to either side, in codes, and in how many steps. */
const REACH: f32 = 1;
const STEPS: i32 = 9;

/**
 * For each group the scale for which code × scale is nearest to the weights.
 *
 * @param x (groups, size) float32
 * @param lowest codes go from here …
 * @param highest … to here
 * @param scales (groups) float32
 */
export function fitScales(
  x: usize,
  groups: i32,
  size: i32,
  lowest: f32,
  highest: f32,
  scales: usize,
): void {
  const bytes = <usize>size * 4;
  for (let group = 0; group < groups; group++, x += bytes, scales += 4) {
    const end = x + bytes;
    let greatest = v128.load(x);
    let least = greatest;
    for (let at = x + 16; at < end; at += 16) {
      greatest = f32x4.max(greatest, v128.load(at));
      least = f32x4.min(least, v128.load(at));
    }
    const top = largestLane(greatest);
    const bottom = -largestLane(f32x4.neg(least));
    const extreme = top > -bottom ? top : bottom;
    let best: f32 = -1;
    let scale: f32 = 0;
    // The largest weight may be at either end of the codes.
    for (let candidate = 0; extreme !== 0 && candidate < 2 * (2 * STEPS + 1); candidate++) {
      const step = <f32>((candidate >> 1) - STEPS) * (REACH / <f32>STEPS);
      const inverse = f32x4.splat((((candidate & 1) === 0 ? lowest : highest) + step) / extreme);
      let products = f32x4.splat(0);
      let squares = products;
      for (let at = x; at < end; at += 16) {
        const value = v128.load(at);
        const rounded = f32x4.nearest(f32x4.mul(value, inverse));
        const code = f32x4.min(f32x4.max(rounded, f32x4.splat(lowest)), f32x4.splat(highest));
        products = f32x4.add(products, f32x4.mul(code, value));
        squares = f32x4.add(squares, f32x4.mul(code, code));
      }
      const product = sumOfLanes(products);
      const square = sumOfLanes(squares);
      if (square === 0) continue;
      // The error is the sum of x² less this.
      const gain = (product * product) / square;
      if (gain > best) {
        best = gain;
        scale = product / square;
      }
    }
    store<f32>(scales, scale);
  }
}

/**
 * For each group of 32 the scale and minimum for which code × scale + minimum is nearest to the weights.
 *
 * @param x (groups, 32) float32
 * @param highest codes go from 0 to here
 * @param mayRise whether a minimum may be above zero
 * @param fits (groups, 2) float32: scale, minimum
 */
export function fitScalesAndMinimums(x: usize, groups: i32, highest: f32, mayRise: bool, fits: usize): void {
  for (let group = 0; group < groups; group++, x += 128, fits += 8) {
    const end = x + 128;
    let greatest = v128.load(x);
    let least = greatest;
    let all = greatest;
    for (let at = x + 16; at < end; at += 16) {
      const value = v128.load(at);
      greatest = f32x4.max(greatest, value);
      least = f32x4.min(least, value);
      all = f32x4.add(all, value);
    }
    const sum = sumOfLanes(all);
    const top = largestLane(greatest);
    let bottom = -largestLane(f32x4.neg(least));
    if (!mayRise && bottom > 0) bottom = 0;
    let scale = (top - bottom) / highest;
    let minimum = bottom;
    let best: f32 = -f32.MAX_VALUE;
    for (let step = -STEPS; top > bottom && step <= STEPS; step++) {
      const inverse = f32x4.splat((highest + <f32>step * (REACH / <f32>STEPS)) / (top - bottom));
      let codes = f32x4.splat(0);
      let squares = codes;
      let products = codes;
      for (let at = x; at < end; at += 16) {
        const value = v128.load(at);
        const rounded = f32x4.nearest(f32x4.mul(f32x4.sub(value, f32x4.splat(bottom)), inverse));
        const code = f32x4.min(rounded, f32x4.splat(highest));
        codes = f32x4.add(codes, code);
        squares = f32x4.add(squares, f32x4.mul(code, code));
        products = f32x4.add(products, f32x4.mul(code, value));
      }
      const code = sumOfLanes(codes);
      const square = sumOfLanes(squares);
      const product = sumOfLanes(products);
      const determinant: f32 = 32 * square - code * code;
      if (determinant <= 0) continue;
      let s: f32 = (32 * product - code * sum) / determinant;
      let m: f32 = (square * sum - code * product) / determinant;
      if (!mayRise && m > 0) {
        m = 0;
        s = product / square;
      }
      // What this takes off the sum of x².
      const gain: f32 =
        2 * s * product + 2 * m * sum - s * s * square - 32 * m * m - 2 * s * m * code;
      if (gain > best) {
        best = gain;
        scale = s;
        minimum = m;
      }
    }
    store<f32>(fits, scale);
    store<f32>(fits, minimum, 4);
  }
}

/**
 * Codes of scales and minimums, s and t, one up or down where that is nearer to the weights: they are rounded to six
 * bits each by itself, but what one loses the other may make good.
 *
 * @param x (blocks, 8, 32) float32
 * @param highest codes of weights go from 0 to here
 * @param units (blocks, 2) float32: weights are code × s × first - t × second
 * @param codes (blocks, 8, 2) float32: s, t
 */
export function refineSixBits(x: usize, blocks: i32, highest: f32, units: usize, codes: usize): void {
  for (let block = 0; block < blocks; block++, units += 8) {
    const unit = load<f32>(units);
    const minimumUnit = load<f32>(units, 4);
    for (let group = 0; group < 8; group++, x += 128, codes += 8) {
      const s = load<f32>(codes);
      const t = load<f32>(codes, 4);
      let best = f32.MAX_VALUE;
      for (let trial = 0; trial < 9; trial++) {
        // The codes as they are come first: others have to be better.
        const sTrial: f32 = s + offsetOf(trial % 3);
        const tTrial: f32 = t + offsetOf(trial / 3);
        if (sTrial < 0 || sTrial > 63 || tTrial < 0 || tTrial > 63) continue;
        const error = errorOf(x, highest, unit * sTrial, -minimumUnit * tTrial);
        if (error >= best) continue;
        best = error;
        store<f32>(codes, sTrial);
        store<f32>(codes, tTrial, 4);
      }
    }
  }
}

function offsetOf(trial: i32): f32 {
  return trial === 0 ? 0 : trial === 1 ? 1 : -1;
}

/** Sum of the squared errors of 32 weights, each with the nearest code. */
function errorOf(x: usize, highest: f32, scale: f32, minimum: f32): f32 {
  const inverse = f32x4.splat(scale > 0 ? 1 / scale : 0);
  const bottom = f32x4.splat(minimum);
  let errors = f32x4.splat(0);
  for (const end = x + 128; x < end; x += 16) {
    const above = f32x4.sub(v128.load(x), bottom);
    const rounded = f32x4.nearest(f32x4.mul(above, inverse));
    const code = f32x4.min(f32x4.max(rounded, f32x4.splat(0)), f32x4.splat(highest));
    const error = f32x4.sub(above, f32x4.mul(code, f32x4.splat(scale)));
    errors = f32x4.add(errors, f32x4.mul(error, error));
  }
  return sumOfLanes(errors);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function sumOfLanes(values: v128): f32 {
  const pairs = f32x4.add(values, v128.shuffle<f32>(values, values, 2, 3, 0, 1));
  return f32x4.extract_lane(pairs, 0) + f32x4.extract_lane(pairs, 1);
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function largestLane(values: v128): f32 {
  const pairs = f32x4.max(values, v128.shuffle<f32>(values, values, 2, 3, 0, 1));
  return max(f32x4.extract_lane(pairs, 0), f32x4.extract_lane(pairs, 1));
}
