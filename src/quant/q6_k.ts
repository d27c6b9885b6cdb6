import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";

const BLOCK = 256;
const BYTES = 210;
const HIGH_BITS = 128;
const SCALES = 192;
const SCALE = 208;

/**
 * Blocks of 256 values (q - 32)·s·d: the low four bits of the q (128 bytes), their upper two (64 bytes), an int8 scale s
 * for each 16 values, d as f16 (ggml-common.h, `block_q6_K`). Each half of a block is four rows of 32 values: rows 0 and
 * 2, and rows 1 and 3, share bytes of low bits, and all four rows share a byte of high bits.
 */
export const q6_K: BlockFormat = {
  name: "q6_K",
  blockSize: BLOCK,
  blockBytes: BYTES,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * BYTES;
      const scale = floats[source[at + SCALE] | (source[at + SCALE + 1] << 8)];
      for (let half = 0; half < 2; half++) {
        for (let row = 0; row < 4; row++) {
          const low = at + half * 64 + (row & 1) * 32;
          const lowShift = row < 2 ? 0 : 4;
          const high = at + HIGH_BITS + half * 32;
          const first = block * BLOCK + half * 128 + row * 32;
          for (let i = 0; i < 32; i++) {
            const byte = source[at + SCALES + half * 8 + row * 2 + (i >> 4)];
            // ggml multiplies the two scales first, in float32.
            const step = Math.fround(scale * ((byte << 24) >> 24));
            const q = ((source[low + i] >> lowShift) & 15) | (((source[high + i] >> (2 * row)) & 3) << 4);
            target[first + i] = step * (q - 32);
          }
        }
      }
    }
  },
};
