import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";

const BLOCK = 256;
const BYTES = 110;
const QUANTS = 32;
const SCALES = 96;
const SCALE = 108;

/**
 * Blocks of 256 values (q - 4)·(s - 32)·d: the third bits of the q (32 bytes), their low two (64 bytes, in the order of
 * Q2_K), an s of 6 bits for each 16 values (12 bytes), d as f16 (ggml-common.h, `block_q3_K`). Bit r of byte i of the
 * third bits belongs to value 32r + i.
 */
export const q3_K: BlockFormat = {
  name: "q3_K",
  blockSize: BLOCK,
  blockBytes: BYTES,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * BYTES;
      const scale = floats[source[at + SCALE] | (source[at + SCALE + 1] << 8)];
      for (let group = 0; group < 16; group++) {
        const step = scale * (groupScale(source, at + SCALES, group) - 32);
        const third = at + (group & 1) * 16;
        const row = group >> 1;
        const from = at + QUANTS + (group >> 3) * 32 + (group & 1) * 16;
        const shift = group & 6;
        const first = block * BLOCK + group * 16;
        for (let i = 0; i < 16; i++) {
          const q = ((source[from + i] >> shift) & 3) | (((source[third + i] >> row) & 1) << 2);
          target[first + i] = step * (q - 4);
        }
      }
    }
  },
};

/** Eight bytes hold the low four bits of the 16 scales, in halves; four more the high two, a quarter of the scales each. */
function groupScale(source: Uint8Array, at: number, group: number): number {
  const low = (source[at + (group & 7)] >> (group < 8 ? 0 : 4)) & 15;
  const high = (source[at + 8 + (group & 3)] >> (2 * (group >> 2))) & 3;
  return low | (high << 4);
}
