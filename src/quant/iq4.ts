/** Types of 4-bit numbers of 16 uneven levels. */
import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";

/** ggml-common.h, `kvalues_iq4nl`. */
const LEVELS = Int8Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);

/** 16 bytes: the low halves are the first 16 values, the high ones the next. */
function scalePairs(
  source: Uint8Array,
  at: number,
  scale: number,
  target: Float32Array,
  first: number,
): void {
  for (let i = 0; i < 16; i++) {
    const pair = source[at + i];
    target[first + i] = LEVELS[pair & 15] * scale;
    target[first + i + 16] = LEVELS[pair >> 4] * scale;
  }
}

/** Blocks of 32 values level(q)·d: d as f16, then 16 bytes of q in halves as in Q4_0 (ggml-common.h, `block_iq4_nl`). */
export const iq4_nl: BlockFormat = {
  name: "iq4_nl",
  blockSize: 32,
  blockBytes: 18,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    for (let block = 0; block < count / 32; block++) {
      const at = block * 18;
      scalePairs(source, at + 2, floats[source[at] | (source[at + 1] << 8)], target, block * 32);
    }
  },
};

/**
 * Blocks of 256 values level(q)·(s - 32)·d: d as f16, the high two bits of the s as a uint16, their low four (4 bytes),
 * then for each s the 16 bytes of q of its 32 values (ggml-common.h, `block_iq4_xs`).
 */
export const iq4_xs: BlockFormat = {
  name: "iq4_xs",
  blockSize: 256,
  blockBytes: 136,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    for (let block = 0; block < count / 256; block++) {
      const at = block * 136;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      const highs = source[at + 2] | (source[at + 3] << 8);
      for (let group = 0; group < 8; group++) {
        const low = (source[at + 4 + (group >> 1)] >> (4 * (group & 1))) & 15;
        const high = (highs >> (2 * group)) & 3;
        const step = scale * ((low | (high << 4)) - 32);
        scalePairs(source, at + 8 + group * 16, step, target, block * 256 + group * 32);
      }
    }
  },
};
