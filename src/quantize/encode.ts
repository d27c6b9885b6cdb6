/** Float32 to blocks of ggml's types. Layouts: src/quant, which reads them. */
import { f32ToF16, halfToFloatTable } from "../quant/half.ts";
import { quantizeQ8_0 } from "../quant/q8_0.ts";
import { fitScales, fitScalesAndMinimums, refineSixBits } from "./fit.ts";

/** Types that can be written. */
export type QuantizedType = "q8_0" | "q4_0" | "q4_1" | "q5_0" | "q5_1" | "q4_K" | "q5_K" | "q6_K";

type Encode = (x: Float32Array, target: Uint8Array, count: number) => void;

/**
 * Blocks of so many weights: the least error by least squares, each weight counting the same.
 *
 * @param x at most `PIECE_VALUES` of them
 * @param count a multiple of the type's block
 * @param target every byte is written
 */
export function encode(type: QuantizedType, x: Float32Array, target: Uint8Array, count: number): void {
  ENCODERS[type](x, target, count);
}

const codes = new Uint8Array(256);

const ENCODERS: Readonly<Record<QuantizedType, Encode>> = {
  q8_0: quantizeQ8_0,
  q4_0: (x, target, count) => centered(x, target, count, 4),
  q5_0: (x, target, count) => centered(x, target, count, 5),
  q4_1: (x, target, count) => withMinimum(x, target, count, 4),
  q5_1: (x, target, count) => withMinimum(x, target, count, 5),
  q4_K: (x, target, count) => superBlocks(x, target, count, 4),
  q5_K: (x, target, count) => superBlocks(x, target, count, 5),
  q6_K: sixBitBlocks,
};

/** q4_0 and q5_0: blocks of 32 of (code - half) × scale. */
function centered(x: Float32Array, target: Uint8Array, count: number, bits: 4 | 5): void {
  const half = 1 << (bits - 1);
  const bytes = bits === 4 ? 18 : 22;
  const scales = fitScales(x, count, 32, -half, half - 1);
  for (let first = 0, at = 0; first < count; first += 32, at += bytes) {
    const scale = storeHalf(target, at, scales[first / 32]);
    round(x, first, 32, scale, 0, half, 2 * half - 1, 0);
    storeCodes(target, at + 2, bits);
  }
}

/** q4_1 and q5_1: blocks of 32 of code × scale + minimum. */
function withMinimum(x: Float32Array, target: Uint8Array, count: number, bits: 4 | 5): void {
  const highest = (1 << bits) - 1;
  const bytes = bits === 4 ? 20 : 24;
  const fits = fitScalesAndMinimums(x, count, highest, true);
  for (let first = 0, at = 0; first < count; first += 32, at += bytes) {
    const scale = storeHalf(target, at, fits[first / 16]);
    const minimum = storeHalf(target, at + 2, fits[first / 16 + 1]);
    round(x, first, 32, scale, minimum, 0, highest, 0);
    storeCodes(target, at + 4, bits);
  }
}

/** The 32 codes as nibbles, those of five bits behind their upper bits. */
function storeCodes(target: Uint8Array, at: number, bits: 4 | 5): void {
  let place = at;
  if (bits === 5) {
    let fifths = 0;
    for (let i = 0; i < 32; i++) fifths |= (codes[i] >> 4) << i;
    for (let byte = 0; byte < 4; byte++) target[place++] = fifths >>> (8 * byte);
  }
  for (let i = 0; i < 16; i++) target[place + i] = (codes[i] & 15) | ((codes[i + 16] & 15) << 4);
}

/** q4_K and q5_K: 256 of code × s·d - t·m, s and t of six bits for 32. */
function superBlocks(x: Float32Array, target: Uint8Array, count: number, bits: 4 | 5): void {
  const highest = (1 << bits) - 1;
  const bytes = bits === 4 ? 144 : 176;
  const units = new Float32Array(count / 128);
  const sixBits = new Float32Array(count / 16);
  const fits = fitScalesAndMinimums(x, count, highest, false);
  for (let block = 0; block < count / 256; block++) {
    // A scale below zero fits nothing better, and could not be stored.
    const scaleOf = (group: number) => Math.max(0, fits[block * 16 + 2 * group]);
    const minimumOf = (group: number) => Math.max(0, -fits[block * 16 + 2 * group + 1]);
    let largestScale = 0;
    let largestMinimum = 0;
    for (let group = 0; group < 8; group++) {
      largestScale = Math.max(largestScale, scaleOf(group));
      largestMinimum = Math.max(largestMinimum, minimumOf(group));
    }
    const scale = storeHalf(target, block * bytes, largestScale / 63);
    const minimum = storeHalf(target, block * bytes + 2, largestMinimum / 63);
    units[block * 2] = scale;
    units[block * 2 + 1] = minimum;
    for (let group = 0; group < 8; group++) {
      sixBits[block * 16 + 2 * group] = sixBitCode(scaleOf(group), scale);
      sixBits[block * 16 + 2 * group + 1] = sixBitCode(minimumOf(group), minimum);
    }
  }
  const refined = refineSixBits(units, sixBits, highest);
  for (let block = 0; block < count / 256; block++)
    storeSuperBlock(x, block, bits, units, refined, target, block * bytes);
}

function storeSuperBlock(
  x: Float32Array,
  block: number,
  bits: 4 | 5,
  units: Float32Array,
  sixBits: Float32Array,
  target: Uint8Array,
  at: number,
): void {
  const nibbles = at + (bits === 4 ? 16 : 48);
  target.fill(0, at + 4, nibbles + 128);
  for (let group = 0; group < 8; group++) {
    const s = sixBits[block * 16 + 2 * group];
    const t = sixBits[block * 16 + 2 * group + 1];
    storeScale(target, at + 4, group, s, t);
    const [scale, minimum] = [units[block * 2] * s, -units[block * 2 + 1] * t];
    round(x, block * 256 + group * 32, 32, scale, minimum, 0, (1 << bits) - 1, group * 32);
  }
  for (let i = 0; i < 256; i++) {
    const group = i >> 5;
    target[nibbles + (group >> 1) * 32 + (i & 31)] |= (codes[i] & 15) << (4 * (group & 1));
    if (bits === 5) target[at + 16 + (i & 31)] |= (codes[i] >> 4) << group;
  }
}

function sixBitCode(value: number, unit: number): number {
  return unit > 0 ? Math.min(63, Math.round(value / unit)) : 0;
}

/** See src/quant/k-scales.ts. */
function storeScale(target: Uint8Array, at: number, group: number, s: number, t: number): void {
  if (group < 4) {
    target[at + group] |= s;
    target[at + group + 4] |= t;
  } else {
    target[at + group + 4] = (s & 15) | ((t & 15) << 4);
    target[at + group - 4] |= (s >> 4) << 6;
    target[at + group] |= (t >> 4) << 6;
  }
}

/** q6_K: 256 of (code - 32) × s·d, s an int8 for 16. */
function sixBitBlocks(x: Float32Array, target: Uint8Array, count: number): void {
  const fits = fitScales(x, count, 16, -32, 31);
  for (let first = 0, at = 0; first < count; first += 256, at += 210) {
    const scales = fits.subarray(first / 16, first / 16 + 16);
    let largest = 0;
    for (let group = 0; group < 16; group++)
      if (Math.abs(scales[group]) > Math.abs(largest)) largest = scales[group];
    // The largest becomes -128: an int8 reaches furthest there.
    const scale = storeHalf(target, at + 208, largest / -128);
    target.fill(0, at, at + 192);
    for (let group = 0; group < 16; group++) {
      const s = scale === 0 ? 0 : Math.max(-128, Math.min(127, Math.round(scales[group] / scale)));
      target[at + 192 + group] = s;
      round(x, first + group * 16, 16, scale * s, 0, 32, 63, group * 16);
    }
    for (let i = 0; i < 256; i++) {
      const half = i >> 7;
      const row = (i >> 5) & 3;
      const low = at + half * 64 + (row & 1) * 32 + (i & 31);
      target[low] |= (codes[i] & 15) << (row < 2 ? 0 : 4);
      target[at + 128 + half * 32 + (i & 31)] |= (codes[i] >> 4) << (2 * row);
    }
  }
}

/** Put into `codes` those of weights [first, first + count), counted from -offset, whose levels are nearest. */
function round(
  x: Float32Array,
  first: number,
  count: number,
  scale: number,
  minimum: number,
  offset: number,
  highest: number,
  to: number,
): void {
  const inverse = scale === 0 ? 0 : 1 / scale;
  for (let i = 0; i < count; i++) {
    const code = Math.floor((x[first + i] - minimum) * inverse + 0.5) + offset;
    codes[to + i] = Math.max(0, Math.min(highest, code));
  }
}

/** Store a float16. @returns what it has become */
function storeHalf(target: Uint8Array, at: number, value: number): number {
  const half = f32ToF16(value);
  target[at] = half & 0xff;
  target[at + 1] = half >> 8;
  return halfToFloatTable()[half];
}
