/** The search for scales, in WebAssembly: see src/kernels/wasm/fit.as.ts. */
import { readFileSync } from "node:fs";

/** Weights that are fitted at a time at most. */
export const PIECE_VALUES = 1 << 18;

interface Kernels {
  fitScales(x: number, groups: number, size: number, lowest: number, highest: number, scales: number): void;
  refineSixBits(x: number, blocks: number, highest: number, units: number, codes: number): void;
  fitScalesAndMinimums(x: number, groups: number, highest: number, mayRise: number, fits: number): void;
}

let kernels: Kernels | undefined;
let values: Float32Array = new Float32Array();
/** Where results are, behind the values. */
const RESULTS = PIECE_VALUES * 4;

/**
 * For each group of `size` weights the scale for which code × scale is nearest to them.
 *
 * @param x at least `count` weights
 * @param size 16 or 32
 * @param lowest codes go from here to `highest`
 * @returns (count / size), valid until the next call
 */
export function fitScales(
  x: Float32Array,
  count: number,
  size: 16 | 32,
  lowest: number,
  highest: number,
): Float32Array {
  place(x, count).fitScales(0, count / size, size, lowest, highest, RESULTS);
  return results(count / size);
}

/**
 * For each 32 weights the scale and minimum for which code × scale + minimum is nearest to them.
 *
 * @param mayRise whether a minimum may be above zero
 * @returns (count / 32, 2): scale, minimum; valid until the next call
 */
export function fitScalesAndMinimums(
  x: Float32Array,
  count: number,
  highest: number,
  mayRise: boolean,
): Float32Array {
  place(x, count).fitScalesAndMinimums(0, count / 32, highest, mayRise ? 1 : 0, RESULTS);
  return results(count / 16);
}

/**
 * Six-bit codes s and t of scales and minimums, changed by one where that is nearer to the weights that were fitted last:
 * code × s × unit - t × unit of minimums, codes from 0 to `highest`.
 *
 * @param units (blocks, 2) of blocks of 256
 * @param codes (blocks, 8, 2): s and t
 * @returns the same as `codes`, valid until the next call
 */
export function refineSixBits(units: Float32Array, codes: Float32Array, highest: number): Float32Array {
  values.set(codes, RESULTS / 4);
  const behind = RESULTS / 4 + codes.length;
  values.set(units, behind);
  kernels!.refineSixBits(0, units.length / 2, highest, behind * 4, RESULTS);
  return results(codes.length);
}

function place(x: Float32Array, count: number): Kernels {
  if (!kernels) {
    const pages = (RESULTS * 1.25) / 65536;
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    const module = new WebAssembly.Module(readFileSync(new URL("../kernels/fit.wasm", import.meta.url)));
    kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as Kernels;
    values = new Float32Array(memory.buffer);
  }
  values.set(x.subarray(0, count));
  return kernels;
}

function results(count: number): Float32Array {
  return values.subarray(RESULTS / 4, RESULTS / 4 + count);
}
