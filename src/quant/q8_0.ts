import type { BlockFormat } from "./block-format.ts";
import { f32ToF16, halfToFloatTable } from "./half.ts";

const BLOCK = 32;
const BYTES = 34;

/** Blocks of 32 values q·d: d as f16, then 32 int8 q (ggml-common.h, `block_q8_0`). */
export const q8_0: BlockFormat = {
  name: "q8_0",
  blockSize: BLOCK,
  blockBytes: BYTES,
  dequantize(source, target, count) {
    const floats = halfToFloatTable();
    const blocks = count / BLOCK;
    for (let block = 0; block < blocks; block++) {
      const at = block * BYTES;
      const scale = floats[source[at] | (source[at + 1] << 8)];
      const quants = at + 2;
      const first = block * BLOCK;
      for (let i = 0; i < BLOCK; i++) target[first + i] = ((source[quants + i] << 24) >> 24) * scale;
    }
  },
};

/**
 * Round `count` values (a multiple of 32) to Q8_0 blocks as ggml's `quantize_row_q8_0_ref` does: d = max|x| / 127,
 * q = x/d rounded half away from zero in float32, d stored as f16.
 *
 * @param target at least `count / 32 * 34` bytes
 */
export function quantizeQ8_0(source: Float32Array, target: Uint8Array, count: number): void {
  const blocks = count / BLOCK;
  for (let block = 0; block < blocks; block++) {
    const first = block * BLOCK;
    let largest = 0;
    for (let i = 0; i < BLOCK; i++) {
      const magnitude = Math.abs(source[first + i]);
      if (magnitude > largest) largest = magnitude;
    }
    const scale = Math.fround(largest / 127);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    const half = f32ToF16(scale);
    const at = block * BYTES;
    target[at] = half & 0xff;
    target[at + 1] = half >> 8;
    for (let i = 0; i < BLOCK; i++) {
      const quotient = Math.fround(source[first + i] * inverse);
      // Half away from zero without a branch, which random signs would mispredict: three times as fast.
      const whole = quotient | 0;
      target[at + 2 + i] = whole + (((quotient - whole) * 2) | 0);
    }
  }
}
