/** Types of points of 8 values -1, 0 and 1, moved by an eighth. All of their arithmetic is exact in float32. */
import type { BlockFormat } from "./block-format.ts";
import { lazyCodebook } from "./codebook.ts";
import { halfToFloatTable } from "./half.ts";
import { IQ1_POINTS } from "./iq1-codebook.ts";

const BLOCK = 256;
const codebookOf = lazyCodebook(IQ1_POINTS, 2, [-1, 0, 1]);

/** The eight values of a point. */
function putPoint(
  codebook: Int8Array,
  point: number,
  delta: number,
  step: number,
  target: Float32Array,
  first: number,
): void {
  for (let i = 0; i < 8; i++) target[first + i] = step * (codebook[point * 8 + i] + delta);
}

/**
 * Blocks of 256 values: d as f16, for each 8 values the low byte of the number of a point (32 bytes), then for each 32
 * values a uint16 of the high three bits of four numbers, s (three bits) and the sign of the eighth. A value is
 * (point ± 1/8)·(2s + 1)·d (ggml-common.h, `block_iq1_s`).
 */
export const iq1_s: BlockFormat = {
  name: "iq1_s",
  blockSize: BLOCK,
  blockBytes: 50,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    const codebook = codebookOf();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * 50;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      for (let group = 0; group < 8; group++) {
        const word = source[at + 34 + 2 * group] | (source[at + 35 + 2 * group] << 8);
        const step = scale * (2 * ((word >> 12) & 7) + 1);
        const delta = word & 0x8000 ? -0.125 : 0.125;
        for (let k = 0; k < 4; k++) {
          const point = source[at + 2 + group * 4 + k] | (((word >> (3 * k)) & 7) << 8);
          putPoint(codebook, point, delta, step, target, block * BLOCK + group * 32 + k * 8);
        }
      }
    }
  },
};

/**
 * Blocks of 256 values: for each 8 values the low byte of the number of a point (32 bytes), then four bits with its high
 * three and the sign of the eighth (16 bytes), then four uint16 of four times s (three bits) and a quarter of d as f16,
 * its lowest four bits first. Each s counts for 16 values, which are as in IQ1_S (ggml-common.h, `block_iq1_m`).
 */
export const iq1_m: BlockFormat = {
  name: "iq1_m",
  blockSize: BLOCK,
  blockBytes: 56,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    const codebook = codebookOf();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * 56;
      const scales = at + 48;
      const low = (source[scales + 1] >> 4) | (source[scales + 3] & 0xf0);
      const high = (source[scales + 5] >> 4) | (source[scales + 7] & 0xf0);
      const scale = floats[low | (high << 8)];
      for (let k = 0; k < 32; k++) {
        const word = source[scales + 2 * (k >> 3)] | (source[scales + 1 + 2 * (k >> 3)] << 8);
        const step = scale * (2 * ((word >> (3 * ((k >> 1) & 3))) & 7) + 1);
        const top = source[at + 32 + (k >> 1)] >> (4 * (k & 1));
        const point = source[at + k] | ((top & 7) << 8);
        putPoint(codebook, point, top & 8 ? -0.125 : 0.125, step, target, block * BLOCK + k * 8);
      }
    }
  },
};
