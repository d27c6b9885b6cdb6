import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";

const BLOCK = 32;
const BYTES = 18;

/**
 * Blocks of 32 values (q - 8)·d: d as f16, then 16 bytes whose low halves are q of the first 16 values and whose high
 * halves are q of the last 16 (ggml-common.h, `block_q4_0`).
 */
export const q4_0: BlockFormat = {
  name: "q4_0",
  blockSize: BLOCK,
  blockBytes: BYTES,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    const blocks = count / BLOCK;
    for (let block = 0; block < blocks; block++) {
      const at = block * BYTES;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      const first = block * BLOCK;
      for (let i = 0; i < 16; i++) {
        const pair = source[at + 2 + i];
        target[first + i] = ((pair & 15) - 8) * scale;
        target[first + i + 16] = ((pair >> 4) - 8) * scale;
      }
    }
  },
};
