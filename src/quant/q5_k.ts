import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";
import { minimumOf, scaleOf } from "./k-scales.ts";

const BLOCK = 256;
const BYTES = 176;
const SCALES = 4;
const FIFTHS = 16;
const QUANTS = 48;

/**
 * Blocks of 256 values q·s·d - t·m as in Q4_K, with the fifth bits of the q (32 bytes) in front of their low four: bit g
 * of byte i belongs to value 32g + i (ggml-common.h, `block_q5_K`).
 */
export const q5_K: BlockFormat = {
  name: "q5_K",
  blockSize: BLOCK,
  blockBytes: BYTES,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * BYTES;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      const minimum = floats[source[at + 2] | (source[at + 3] << 8)];
      for (let group = 0; group < 8; group++) {
        // All of this is exact in float64 but for the last rounding, as in ggml.
        const step = scale * scaleOf(source, at + SCALES, group);
        const offset = minimum * minimumOf(source, at + SCALES, group);
        const from = at + QUANTS + (group >> 1) * 32;
        const shift = (group & 1) * 4;
        const first = block * BLOCK + group * 32;
        for (let i = 0; i < 32; i++) {
          const fifth = (source[at + FIFTHS + i] >> group) & 1;
          target[first + i] = step * (((source[from + i] >> shift) & 15) | (fifth << 4)) - offset;
        }
      }
    }
  },
};
