import { describe, expect, it } from "vitest";
import {
  decodeSeconds,
  guessedSeconds,
  promptSeconds,
  type SweepLoad,
  tokenSeconds,
} from "../../src/plan/forecast.ts";

/** Ten layers of 100 MB at 10 GB/s of arithmetic, and an output of 200 MB. */
const load: SweepLoad = {
  layers: 10,
  layerBytes: 100e6,
  layersBytes: 1000e6,
  outputBytes: 200e6,
  rehearsal: { decode: 0.01, prefill: 0.001, attention: 1e-6 },
};

describe("a token", () => {
  const token = (residentBytes: number, disk: number, positions = 0) =>
    tokenSeconds(load, { residentBytes, disk, positions });

  it("takes as long as the disk reads, but for what stays in memory", () => {
    expect(token(0, 1e9)).toBeCloseTo(1.2);
    expect(token(600e6, 1e9)).toBeCloseTo(0.6);
  });

  it("takes as long as the arithmetic where that is slower", () => {
    expect(token(0, 100e9)).toBeCloseTo(0.12);
    expect(token(1200e6, 1e6)).toBeCloseTo(0.12);
    expect(decodeSeconds(load, 0)).toBeCloseTo(0.12);
  });

  it("takes longer the more it attends to, in each layer", () => {
    expect(token(1200e6, 1e9, 1000)).toBeCloseTo(0.12 + 10 * 0.001);
  });
});

describe("a token of several that a sweep verifies", () => {
  const guessed = (disk: number, acceptance: number) =>
    guessedSeconds(load, { residentBytes: 0, disk, positions: 0, acceptance });

  it("has its share of the reading, by the law of acceptance", () => {
    // Arithmetic of 17 rows is 20 × 0.012 s, and reading takes 12 s.
    expect(guessed(0.1e9, 0.5)).toBeCloseTo(12 / ((1 - 0.5 ** 17) / 0.5));
    expect(guessed(0.1e9, 0)).toBeCloseTo(12);
  });

  it("is never slower than without guesses, and no more are made than arithmetic allows", () => {
    expect(guessed(1e12, 0.3)).toBeLessThanOrEqual(0.12);
    expect(guessed(1e12, 0)).toBeCloseTo(0.12);
    expect(guessed(1e12, 0.99)).toBeGreaterThan(0.012);
  });
});

describe("a prompt", () => {
  const prompt = (rows: number, disk: number) => promptSeconds(load, { rows, residentBytes: 0, disk });

  it("goes through the layers with all rows, through the output with one", () => {
    expect(prompt(1, 1e12)).toBeCloseTo(0.001 * 10 + 0.02);
    expect(prompt(101, 1e12)).toBeCloseTo(101 * 0.001 * 10 + 0.02 + ((101 * 100) / 2) * 1e-6 * 10);
  });

  it("reads every weight once", () => {
    expect(prompt(101, 0.5e9)).toBeCloseTo(2.4);
  });
});
