import type { BlockFormat } from "./block-format.ts";

/** bfloat16: the upper half of a float32. */
export const bf16: BlockFormat = {
  name: "bf16",
  blockSize: 1,
  blockBytes: 2,
  dequantize(source, target, count) {
    const bits = new Uint32Array(target.buffer, target.byteOffset, count);
    for (let i = 0; i < count; i++) bits[i] = (source[2 * i] << 16) | (source[2 * i + 1] << 24);
  },
};
