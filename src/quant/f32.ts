import type { BlockFormat } from "./block-format.ts";

/** float32 as it is. */
export const f32: BlockFormat = {
  name: "f32",
  blockSize: 1,
  blockBytes: 4,
  dequantize(source, target, count) {
    new Uint8Array(target.buffer, target.byteOffset, count * 4).set(source.subarray(0, count * 4));
  },
};
