/** Types of points of 4 magnitudes, with about three bits a value. All of their arithmetic is exact in float32. */
import type { BlockFormat } from "./block-format.ts";
import { evenSigns, lazyCodebook, signTable } from "./codebook.ts";
import { halfToFloatTable } from "./half.ts";
import { IQ3_S_LEVELS, IQ3_S_POINTS, IQ3_XXS_LEVELS, IQ3_XXS_POINTS } from "./iq3-codebooks.ts";

const BLOCK = 256;
const xxsCodebook = lazyCodebook(IQ3_XXS_POINTS, 4, IQ3_XXS_LEVELS);
const sCodebook = lazyCodebook(IQ3_S_POINTS, 4, IQ3_S_LEVELS);

/** The eight values of two points, which share a byte of signs. */
function putPoints(
  codebook: Int8Array,
  one: number,
  two: number,
  signs: Int8Array,
  signByte: number,
  step: number,
  target: Float32Array,
  first: number,
): void {
  for (let i = 0; i < 4; i++) {
    target[first + i] = codebook[one * 4 + i] * signs[signByte * 8 + i] * step;
    target[first + i + 4] = codebook[two * 4 + i] * signs[signByte * 8 + i + 4] * step;
  }
}

/**
 * Blocks of 256 values: d as f16, for each 4 values the number of a point (64 bytes), then for each 32 values a uint32 of
 * four times seven signs and, in its highest four bits, s. A value is magnitude·(s + 1/2)·d/2 (ggml-common.h,
 * `block_iq3_xxs`).
 */
export const iq3_xxs: BlockFormat = {
  name: "iq3_xxs",
  blockSize: BLOCK,
  blockBytes: 98,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    const codebook = xxsCodebook();
    const signs = signTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * 98;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      for (let group = 0; group < 8; group++) {
        const w = at + 66 + group * 4;
        const word = source[w] | (source[w + 1] << 8) | (source[w + 2] << 16) | (source[w + 3] << 24);
        const step = scale * (0.5 + (word >>> 28)) * 0.5;
        for (let k = 0; k < 4; k++) {
          const from = at + 2 + group * 8 + k * 2;
          const signByte = evenSigns((word >>> (7 * k)) & 127);
          const first = block * BLOCK + group * 32 + k * 8;
          putPoints(codebook, source[from], source[from + 1], signs, signByte, step, target, first);
        }
      }
    }
  },
};

/**
 * Blocks of 256 values: d as f16, for each 4 values the low byte of the number of a point (64 bytes), the ninth bits of
 * the numbers (8 bytes), signs (32 bytes), then s of four bits for each 32 values. A value is magnitude·(2s + 1)·d
 * (ggml-common.h, `block_iq3_s`).
 */
export const iq3_s: BlockFormat = {
  name: "iq3_s",
  blockSize: BLOCK,
  blockBytes: 110,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    const codebook = sCodebook();
    const signs = signTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * 110;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      for (let group = 0; group < 8; group++) {
        const s = (source[at + 106 + (group >> 1)] >> (4 * (group & 1))) & 15;
        const step = scale * (2 * s + 1);
        const ninths = source[at + 66 + group];
        for (let k = 0; k < 4; k++) {
          const from = at + 2 + group * 8 + k * 2;
          const one = source[from] | (((ninths >> (2 * k)) & 1) << 8);
          const two = source[from + 1] | (((ninths >> (2 * k + 1)) & 1) << 8);
          const signByte = source[at + 74 + group * 4 + k];
          const first = block * BLOCK + group * 32 + k * 8;
          putPoints(codebook, one, two, signs, signByte, step, target, first);
        }
      }
    }
  },
};
