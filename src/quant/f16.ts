import type { BlockFormat } from "./block-format.ts";
import { halfToFloatTable } from "./half.ts";

/** IEEE 754 binary16. */
export const f16: BlockFormat = {
  name: "f16",
  blockSize: 1,
  blockBytes: 2,
  dequantize(source, target, count) {
    const patterns = new Uint32Array(halfToFloatTable().buffer);
    // Bits rather than floats, so that the payload of a NaN survives.
    const bits = new Uint32Array(target.buffer, target.byteOffset, count);
    for (let i = 0; i < count; i++) bits[i] = patterns[source[2 * i] | (source[2 * i + 1] << 8)];
  },
};
