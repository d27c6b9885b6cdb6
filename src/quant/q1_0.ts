import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";

const BLOCK = 128;
const BYTES = 18;

/** Blocks of 128 values d or -d: d as f16, then a bit for each value, set for d, lowest first (ggml-common.h, `block_q1_0`). */
export const q1_0: BlockFormat = {
  name: "q1_0",
  blockSize: BLOCK,
  blockBytes: BYTES,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * BYTES;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      const first = block * BLOCK;
      for (let i = 0; i < BLOCK; i++) {
        const bit = (source[at + 2 + (i >> 3)] >> (i & 7)) & 1;
        target[first + i] = (2 * bit - 1) * scale;
      }
    }
  },
};
