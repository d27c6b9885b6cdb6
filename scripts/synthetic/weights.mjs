// @ts-check
/** Pseudo-random weights of a given standard deviation, made directly in the bytes of a tensor type. */

import { f32ToBf16, f32ToF16 } from "../../dist/quant/half.js";

/** Values made at a time; a multiple of every block. */
const PIECE = 1 << 18;

/**
 * Block formats: values and bytes of a block, where its float16 scale lies, and the standard deviation of what that
 * scales where all bits are equally likely. What is subtracted to have a mean of zero is subtracted by the format
 * itself, or by a minimum that follows the scale, so many times as large.
 *
 * @type {Readonly<Record<string, { values: number, bytes: number, scale: number, deviation: number, minimum?: number }>>}
 */
const BLOCKS = {
  q8_0: { values: 32, bytes: 34, scale: 0, deviation: 73.3 },
  q4_0: { values: 32, bytes: 18, scale: 0, deviation: 4.61 },
  q4_1: { values: 32, bytes: 20, scale: 0, deviation: 4.61, minimum: -7.5 },
  q5_0: { values: 32, bytes: 22, scale: 0, deviation: 9.23 },
  q5_1: { values: 32, bytes: 24, scale: 0, deviation: 9.23, minimum: -15.5 },
  iq4_nl: { values: 32, bytes: 18, scale: 0, deviation: 67.4 },
  // Its scale is a byte.
  mxfp4: { values: 32, bytes: 17, scale: 0, deviation: 5.85 },
  q1_0: { values: 128, bytes: 18, scale: 0, deviation: 1 },
  q4_K: { values: 256, bytes: 144, scale: 0, deviation: 258, minimum: 7.5 },
  q5_K: { values: 256, bytes: 176, scale: 0, deviation: 527, minimum: 15.5 },
  q6_K: { values: 256, bytes: 210, scale: 208, deviation: 1365 },
  iq4_xs: { values: 256, bytes: 136, scale: 0, deviation: 1245 },
};

/** @type {Readonly<Record<string, (values: Float32Array) => Uint8Array>>} */
const FLOATS = {
  f32: (values) => new Uint8Array(values.buffer, 0, values.byteLength),
  f16: (values) => new Uint8Array(Uint16Array.from(values, f32ToF16).buffer),
  bf16: (values) => new Uint8Array(Uint16Array.from(values, f32ToBf16).buffer),
};

export const WEIGHT_TYPES = [...Object.keys(FLOATS), ...Object.keys(BLOCKS)];

/**
 * The bytes of `count` weights, in pieces that are only valid until the next is asked for.
 *
 * @param {string} type
 * @param {number} count a multiple of the type's block
 * @param {{ mean: number, deviation: number }} distribution evenly distributed; the mean is for float types only
 * @param {number} seed
 * @returns {Generator<Uint8Array, void, undefined>}
 */
export function* weights(type, count, distribution, seed) {
  const random = randomWords(seed);
  const block = BLOCKS[type];
  for (let done = 0; done < count; done += PIECE) {
    const values = Math.min(PIECE, count - done);
    yield block
      ? blocks(type, values / block.values, distribution.deviation, random)
      : floats(type, values, distribution, random);
  }
}

/** @param {string} type @param {number} count @param {{ mean: number, deviation: number }} distribution @param {(target: Uint32Array) => void} random */
function floats(type, count, { mean, deviation }, random) {
  const words = new Uint32Array(count);
  random(words);
  const width = deviation * Math.sqrt(12);
  return FLOATS[type](Float32Array.from(words, (word) => mean + (word / 2 ** 32 - 0.5) * width));
}

/** @param {string} type @param {number} count @param {number} deviation @param {(target: Uint32Array) => void} random */
function blocks(type, count, deviation, random) {
  const { bytes, scale, deviation: unit, minimum } = BLOCKS[type];
  const words = new Uint32Array(Math.ceil((count * bytes) / 4));
  random(words);
  const data = new Uint8Array(words.buffer, 0, count * bytes);
  // As many scales as there are bytes to choose by, a quarter up and down.
  const scales = Array.from({ length: 256 }, (_, i) => f32ToF16((deviation / unit) * (0.75 + i / 512)));
  const minima = scales.map((_, i) => f32ToF16((deviation / unit) * (0.75 + i / 512) * (minimum ?? 0)));
  for (let at = 0; at < data.length; at += bytes) {
    const place = at + scale;
    const choice = data[place];
    if (type === "mxfp4") {
      // Powers of two only: two of them, in the shares that give the deviation.
      const exponent = Math.floor(Math.log2(deviation / unit));
      const share = ((deviation / unit / 2 ** exponent) ** 2 - 1) / 3;
      data[place] = 128 + exponent + (choice < 256 * share ? 1 : 0);
      continue;
    }
    data[place] = scales[choice] & 255;
    data[place + 1] = scales[choice] >> 8;
    if (minimum !== undefined) {
      data[place + 2] = minima[choice] & 255;
      data[place + 3] = minima[choice] >> 8;
    }
    // Quantization to Q8_0 never gives -128, and kernels may count on that.
    if (type === "q8_0") for (let i = at + 2; i < at + bytes; i++) if (data[i] === 128) data[i] = 129;
  }
  return data;
}

/**
 * Marsaglia's xorshift32: not for cryptography, and the same everywhere.
 *
 * @param {number} seed
 */
function randomWords(seed) {
  // Neighbouring seeds are spread by a multiplication; the state must not be zero.
  let state = Math.imul(seed + 1, 0x9e3779b1) | 1;
  return (/** @type {Uint32Array} */ target) => {
    let x = state;
    for (let i = 0; i < target.length; i++) {
      x ^= x << 13;
      x ^= x >>> 17;
      x ^= x << 5;
      target[i] = x;
    }
    state = x;
  };
}
