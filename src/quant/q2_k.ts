import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";

const BLOCK = 256;
const BYTES = 84;
const QUANTS = 16;
const SCALE = 80;
const MINIMUM = 82;

/**
 * Blocks of 256 values q·s·d - t·m: for each 16 values a byte of s (low four bits) and t (high four), 64 bytes of q, d
 * and m as f16 (ggml-common.h, `block_q2_K`). Each half of a block is four rows of 32 values that share 32 bytes: row r
 * has bits 2r and 2r + 1.
 */
export const q2_K: BlockFormat = {
  name: "q2_K",
  blockSize: BLOCK,
  blockBytes: BYTES,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * BYTES;
      const scale = floats[source[at + SCALE] | (source[at + SCALE + 1] << 8)];
      const minimum = floats[source[at + MINIMUM] | (source[at + MINIMUM + 1] << 8)];
      for (let group = 0; group < 16; group++) {
        // All of this is exact in float64 but for the last rounding, as in ggml.
        const step = scale * (source[at + group] & 15);
        const offset = minimum * (source[at + group] >> 4);
        const from = at + QUANTS + (group >> 3) * 32 + (group & 1) * 16;
        const shift = group & 6;
        const first = block * BLOCK + group * 16;
        for (let i = 0; i < 16; i++) target[first + i] = step * ((source[from + i] >> shift) & 3) - offset;
      }
    }
  },
};
