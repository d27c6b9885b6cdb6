import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";

const BLOCK = 64;
const BYTES = 18;

/** Blocks of 64 values (q - 1)·d: d as f16, then two bits of q for each value, lowest first (ggml-common.h, `block_q2_0`). */
export const q2_0: BlockFormat = {
  name: "q2_0",
  blockSize: BLOCK,
  blockBytes: BYTES,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * BYTES;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      const first = block * BLOCK;
      for (let i = 0; i < BLOCK; i++) {
        const q = (source[at + 2 + (i >> 2)] >> (2 * (i & 3))) & 3;
        target[first + i] = (q - 1) * scale;
      }
    }
  },
};
