import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";
import { minimumOf, scaleOf } from "./k-scales.ts";

const BLOCK = 256;
const BYTES = 144;
const SCALES = 4;
const QUANTS = 16;

/**
 * Blocks of 256 values q·s·d - t·m: d and m as f16, s and t of 6 bits for each 32 values (12 bytes), then 128 bytes of
 * q: each 32 bytes hold 32 values in their low halves and the next 32 in their high halves (ggml-common.h,
 * `block_q4_K`).
 */
export const q4_K: BlockFormat = {
  name: "q4_K",
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
        for (let i = 0; i < 32; i++) target[first + i] = step * ((source[from + i] >> shift) & 15) - offset;
      }
    }
  },
};
