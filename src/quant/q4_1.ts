import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";

const BLOCK = 32;
const BYTES = 20;

/** Blocks of 32 values q·d + m: d and m as f16, then 16 bytes of q in halves as in Q4_0 (ggml-common.h, `block_q4_1`). */
export const q4_1: BlockFormat = {
  name: "q4_1",
  blockSize: BLOCK,
  blockBytes: BYTES,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    const blocks = count / BLOCK;
    for (let block = 0; block < blocks; block++) {
      const at = block * BYTES;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      const minimum = floats[source[at + 2] | (source[at + 3] << 8)];
      const first = block * BLOCK;
      for (let i = 0; i < 16; i++) {
        const pair = source[at + 4 + i];
        // The product is exact in float64 (15 significant bits), so the sum is rounded once, as ggml's is.
        target[first + i] = (pair & 15) * scale + minimum;
        target[first + i + 16] = (pair >> 4) * scale + minimum;
      }
    }
  },
};
