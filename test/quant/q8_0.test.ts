import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openGguf } from "../../src/gguf/open.ts";
import { q8_0, quantizeQ8_0 } from "../../src/quant/q8_0.ts";

describe("quantizeQ8_0", () => {
  it("rounds half away from zero with the largest value at ±127", () => {
    const source = Float32Array.from(
      { length: 32 },
      (_, i) => [127, -127, 0.5, -0.5, 1.5, 2.5, 0.49999997, -2.5][i] ?? 0,
    );
    const target = new Uint8Array(34);
    quantizeQ8_0(source, target, 32);
    expect([...target.subarray(0, 2)]).toEqual([0, 0x3c]);
    expect([...new Int8Array(target.buffer, 2, 8)]).toEqual([127, -127, 1, -1, 2, 3, 0, -3]);
  });

  it("gives zeros for zeros", () => {
    const target = new Uint8Array(34).fill(9);
    quantizeQ8_0(new Float32Array(32), target, 32);
    expect(target.every((byte) => byte === 0)).toBe(true);
  });

  it("is off by at most half a step, and exact on what it made", () => {
    let state = 1;
    const source = Float32Array.from({ length: 4096 }, () => {
      state = (state * 48271) % 0x7fffffff;
      return state / 0x7fffffff - 0.5;
    });
    const blocks = new Uint8Array((4096 / 32) * 34);
    quantizeQ8_0(source, blocks, 4096);
    const values = new Float32Array(4096);
    q8_0.dequantize(blocks, values, 4096);
    // Half a step of 0.5 / 127, and the rounding of the scale to 11 bits.
    for (let i = 0; i < 4096; i++)
      expect(Math.abs(values[i] - source[i])).toBeLessThan(0.5 / 127 / 2 + 0.5 / 2048);
  });

  const models = new URL("../../../shared/vectors/models/stories260K/", import.meta.url);
  it.runIf(existsSync(models))("makes the bytes that llama.cpp made of the same weights", () => {
    const original = openGguf(new URL("stories260K-f32.gguf", models).pathname);
    const quantized = openGguf(new URL("stories260K-Q8_0.gguf", models).pathname);
    let compared = 0;
    for (const { name, type, shape, offset, bytes } of quantized.tensors.values()) {
      if (type !== "q8_0") continue;
      const count = shape.reduce((product, size) => product * size, 1);
      const expected = new Uint8Array(bytes);
      quantized.read(offset, expected);
      const source = new Float32Array(count);
      original.read(original.tensors.get(name)!.offset, new Uint8Array(source.buffer));
      const got = new Uint8Array(bytes);
      quantizeQ8_0(source, got, count);
      expect(Buffer.compare(got, expected), name).toBe(0);
      compared++;
    }
    original.close();
    quantized.close();
    expect(compared).toBeGreaterThan(20);
  });
});
