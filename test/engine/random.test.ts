import { describe, expect, it } from "vitest";
import { createRandom, xoshiro128 } from "../../src/engine/random.ts";

describe("xoshiro128**", () => {
  it("gives the sequence of the published generator from state 1, 2, 3, 4", () => {
    const next = xoshiro128(Uint32Array.of(1, 2, 3, 4));
    const sequence = Array.from({ length: 10 }, next);
    // As the authors' C program prints them.
    expect(sequence).toEqual([
      11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597, 4258142804,
    ]);
  });
});

describe("createRandom", () => {
  it("repeats with the seed and differs between seeds, also above 32 bits", () => {
    const sequence = (seed: number) => Array.from({ length: 5 }, createRandom(seed));
    expect(sequence(7)).toEqual(sequence(7));
    const seeds = [0, 1, 2, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER];
    expect(new Set(seeds.map((seed) => sequence(seed)[0])).size).toBe(seeds.length);
  });

  it("is spread evenly over [0, 1)", () => {
    const random = createRandom(1);
    const bins = new Array(100).fill(0);
    for (let i = 0; i < 100_000; i++) bins[Math.floor(random() * 100)]++;
    expect(bins).toHaveLength(100);
    const chiSquare = bins.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
    // 99 degrees of freedom: 0.1 % of good generators would be above 148.2.
    expect(chiSquare).toBeLessThan(148.2);
  });
});
