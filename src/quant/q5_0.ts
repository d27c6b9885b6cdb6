import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";

const BLOCK = 32;
const BYTES = 22;

/**
 * Blocks of 32 values (q - 16)·d: d as f16, the fifth bits of the 32 q as a uint32, then 16 bytes with their low four
 * bits in halves as in Q4_0 (ggml-common.h, `block_q5_0`).
 */
export const q5_0: BlockFormat = {
  name: "q5_0",
  blockSize: BLOCK,
  blockBytes: BYTES,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    const blocks = count / BLOCK;
    for (let block = 0; block < blocks; block++) {
      const at = block * BYTES;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      const fifths = source[at + 2] | (source[at + 3] << 8) | (source[at + 4] << 16) | (source[at + 5] << 24);
      const first = block * BLOCK;
      for (let i = 0; i < 16; i++) {
        const pair = source[at + 6 + i];
        target[first + i] = (((pair & 15) | (((fifths >>> i) & 1) << 4)) - 16) * scale;
        target[first + i + 16] = (((pair >> 4) | (((fifths >>> (i + 16)) & 1) << 4)) - 16) * scale;
      }
    }
  },
};
