/** Ternary types: values -d, 0 and d. */
import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";

const BLOCK = 256;

/**
 * Blocks of 256 values (q - 1)·d: 52 bytes of digits q of base 3, then d as f16 (ggml-common.h, `block_tq1_0`). A byte
 * is a fraction of 256 whose first digits after the point are its values: five in each of the first 48 bytes, four in
 * each of the last four. Digit n of 32 bytes in a row are 32 values in a row, then the same of 16 bytes and of 4.
 */
export const tq1_0: BlockFormat = {
  name: "tq1_0",
  blockSize: BLOCK,
  blockBytes: 54,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * 54;
      const scale = floats[source[at + 52] | (source[at + 53] << 8)];
      const first = block * BLOCK;
      digits(source, at, 32, 5, scale, target, first);
      digits(source, at + 32, 16, 5, scale, target, first + 160);
      digits(source, at + 48, 4, 4, scale, target, first + 240);
    }
  },
};

/** The first `places` digits of `bytes` bytes. */
function digits(
  source: Uint8Array,
  at: number,
  bytes: number,
  places: number,
  scale: number,
  target: Float32Array,
  first: number,
): void {
  for (let place = 0, power = 1; place < places; place++, power *= 3) {
    const row = first + place * bytes;
    for (let i = 0; i < bytes; i++) {
      const rest = (source[at + i] * power) & 255;
      target[row + i] = (((rest * 3) >> 8) - 1) * scale;
    }
  }
}

/**
 * Blocks of 256 values (q - 1)·d: 64 bytes with two bits for each q, then d as f16 (ggml-common.h, `block_tq2_0`). Each
 * 32 bytes are four rows of 32 values, row r in bits 2r and 2r + 1.
 */
export const tq2_0: BlockFormat = {
  name: "tq2_0",
  blockSize: BLOCK,
  blockBytes: 66,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    for (let block = 0; block < count / BLOCK; block++) {
      const at = block * 66;
      const scale = floats[source[at + 64] | (source[at + 65] << 8)];
      for (let row = 0; row < 8; row++) {
        const from = at + (row >> 2) * 32;
        const shift = 2 * (row & 3);
        const first = block * BLOCK + row * 32;
        for (let i = 0; i < 32; i++) target[first + i] = (((source[from + i] >> shift) & 3) - 1) * scale;
      }
    }
  },
};
