import { describe, expect, it } from "vitest";
import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16, halfToFloatTable } from "../../src/quant/half.ts";

describe("half precision", () => {
  it("knows the landmarks of f16", () => {
    expect(f16ToF32(0x3c00)).toBe(1);
    expect(f16ToF32(0xc000)).toBe(-2);
    expect(f16ToF32(0x7bff)).toBe(65504);
    expect(f16ToF32(0x0001)).toBe(2 ** -24);
    expect(f16ToF32(0x03ff)).toBe(1023 * 2 ** -24);
    expect(f16ToF32(0x0400)).toBe(2 ** -14);
    expect(f16ToF32(0x8000)).toBe(-0);
    expect(f16ToF32(0x7c00)).toBe(Number.POSITIVE_INFINITY);
    expect(new Uint32Array(halfToFloatTable().buffer)[0x7c01]).toBe(0x7fc02000);
  });

  it("gives every f16 back unchanged, but for signalling NaNs", () => {
    for (let half = 0; half < 0x10000; half++) {
      const quiet = (half & 0x7fff) > 0x7c00 ? half | 0x200 : half;
      if (f32ToF16(f16ToF32(half)) !== quiet) expect([half, f32ToF16(f16ToF32(half))]).toEqual([half, quiet]);
    }
  });

  it("rounds to the nearest f16, ties to even, everywhere", () => {
    for (let half = 0; half < 0x7c00; half++) {
      const here = f16ToF32(half);
      const above = half === 0x7bff ? 65536 : f16ToF32(half + 1);
      const middle = (here + above) / 2;
      const even = half % 2 === 0 ? half : half + 1;
      const below = Math.fround(here + (middle - here) * 0.999);
      const beyond = Math.fround(middle + (above - middle) * 0.001);
      const got = [f32ToF16(middle), f32ToF16(-middle) & 0x7fff, f32ToF16(below), f32ToF16(beyond)];
      const expected = [even, even, half, half + 1];
      if (got.join() !== expected.join()) expect(got, `around f16 ${half}`).toEqual(expected);
    }
    expect(f32ToF16(1e30)).toBe(0x7c00);
    expect(f32ToF16(-1e-30)).toBe(0x8000);
  });

  it("converts bf16 both ways", () => {
    expect(bf16ToF32(0x3f80)).toBe(1);
    expect(f32ToBf16(1 + 2 ** -8)).toBe(0x3f80);
    expect(f32ToBf16(1 + 3 * 2 ** -8)).toBe(0x3f82);
    expect(f32ToBf16(-3.3895313892515355e38)).toBe(0xff7f);
    expect(f32ToBf16(3.4e38)).toBe(0x7f80);
    expect(Number.isNaN(bf16ToF32(f32ToBf16(Number.NaN)))).toBe(true);
  });
});
