import type { BlockFormat } from "./block-format.ts";
import { f32BitsToF16, halfToFloatTable } from "./half.ts";

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

/**
 * Round `count` values to float16, to nearest, ties to even.
 *
 * @param target at least `count * 2` bytes, 2-byte aligned
 */
export function roundToF16(source: Float32Array, target: Uint8Array, count: number): void {
  const bits = new Int32Array(source.buffer, source.byteOffset, count);
  const halves = new Uint16Array(target.buffer, target.byteOffset, count);
  for (let i = 0; i < count; i++) halves[i] = f32BitsToF16(bits[i]);
}
