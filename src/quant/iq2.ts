/** Types of points of 8 magnitudes, with about two bits a value. All of their arithmetic is exact in float32. */
import type { BlockFormat } from "./block-format.ts";
import { evenSigns, lazyCodebook, signTable } from "./codebook.ts";
import { halfToFloatTable } from "./half.ts";
import { IQ2_LEVELS, IQ2_S_POINTS, IQ2_XS_POINTS, IQ2_XXS_POINTS } from "./iq2-codebooks.ts";

const BLOCK = 256;
const xxsCodebook = lazyCodebook(IQ2_XXS_POINTS, 2, IQ2_LEVELS);
const xsCodebook = lazyCodebook(IQ2_XS_POINTS, 2, IQ2_LEVELS);
const sCodebook = lazyCodebook(IQ2_S_POINTS, 2, IQ2_LEVELS);

/** The eight values of a point. */
function putPoint(
  codebook: Int8Array,
  point: number,
  signs: Int8Array,
  signByte: number,
  step: number,
  target: Float32Array,
  first: number,
): void {
  for (let i = 0; i < 8; i++) target[first + i] = codebook[point * 8 + i] * signs[signByte * 8 + i] * step;
}

/**
 * Blocks of 256 values: d as f16, then for each 32 values the numbers of four points (4 bytes) and a uint32 of four times
 * seven signs and, in its highest four bits, s. A value is magnitude·(s + 1/2)·d/4 (ggml-common.h, `block_iq2_xxs`).
 */
export const iq2_xxs: BlockFormat = {
  name: "iq2_xxs",
  blockSize: BLOCK,
  blockBytes: 66,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    const codebook = xxsCodebook();
    const signs = signTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * 66;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      for (let group = 0; group < 8; group++) {
        const from = at + 2 + group * 8;
        const word =
          source[from + 4] | (source[from + 5] << 8) | (source[from + 6] << 16) | (source[from + 7] << 24);
        const step = scale * (0.5 + (word >>> 28)) * 0.25;
        for (let k = 0; k < 4; k++) {
          const signByte = evenSigns((word >>> (7 * k)) & 127);
          const first = block * BLOCK + group * 32 + k * 8;
          putPoint(codebook, source[from + k], signs, signByte, step, target, first);
        }
      }
    }
  },
};

/**
 * Blocks of 256 values: d as f16, for each 8 values a uint16 of the number of a point (9 bits) and seven signs, then s of
 * four bits for each 16 values. A value is magnitude·(s + 1/2)·d/4 (ggml-common.h, `block_iq2_xs`).
 */
export const iq2_xs: BlockFormat = {
  name: "iq2_xs",
  blockSize: BLOCK,
  blockBytes: 74,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    const codebook = xsCodebook();
    const signs = signTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * 74;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      for (let k = 0; k < 32; k++) {
        const word = source[at + 2 + 2 * k] | (source[at + 3 + 2 * k] << 8);
        const step = scale * (0.5 + nibble(source, at + 66, k >> 1)) * 0.25;
        const signByte = evenSigns(word >> 9);
        putPoint(codebook, word & 511, signs, signByte, step, target, block * BLOCK + k * 8);
      }
    }
  },
};

/**
 * Blocks of 256 values: d as f16, for each 8 values the low byte of the number of a point (32 bytes), then their signs
 * (32 bytes), then the high two bits of the numbers (8 bytes), then s of four bits for each 16 values. A value is
 * magnitude·(s + 1/2)·d/4 (ggml-common.h, `block_iq2_s`).
 */
export const iq2_s: BlockFormat = {
  name: "iq2_s",
  blockSize: BLOCK,
  blockBytes: 82,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    const codebook = sCodebook();
    const signs = signTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * 82;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      for (let k = 0; k < 32; k++) {
        const high = (source[at + 66 + (k >> 2)] >> (2 * (k & 3))) & 3;
        const step = scale * (0.5 + nibble(source, at + 74, k >> 1)) * 0.25;
        const point = source[at + 2 + k] | (high << 8);
        putPoint(codebook, point, signs, source[at + 34 + k], step, target, block * BLOCK + k * 8);
      }
    }
  },
};

/** Four bits of packed pairs, the low half of a byte first. */
function nibble(source: Uint8Array, at: number, index: number): number {
  return (source[at + (index >> 1)] >> (4 * (index & 1))) & 15;
}
