import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";

const BLOCK = 32;
const BYTES = 24;

/**
 * Blocks of 32 values q·d + m: d and m as f16, then the fifth bits and the low four bits of q as in Q5_0
 * (ggml-common.h, `block_q5_1`).
 */
export const q5_1: BlockFormat = {
  name: "q5_1",
  blockSize: BLOCK,
  blockBytes: BYTES,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    const blocks = count / BLOCK;
    for (let block = 0; block < blocks; block++) {
      const at = block * BYTES;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      const minimum = floats[source[at + 2] | (source[at + 3] << 8)];
      const fifths = source[at + 4] | (source[at + 5] << 8) | (source[at + 6] << 16) | (source[at + 7] << 24);
      const first = block * BLOCK;
      for (let i = 0; i < 16; i++) {
        const pair = source[at + 8 + i];
        const low = (pair & 15) | (((fifths >>> i) & 1) << 4);
        const high = (pair >> 4) | (((fifths >>> (i + 16)) & 1) << 4);
        // The product is exact in float64, so the sum is rounded once, as ggml's is (see q4_1).
        target[first + i] = low * scale + minimum;
        target[first + i + 16] = high * scale + minimum;
      }
    }
  },
};
