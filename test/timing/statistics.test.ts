import { describe, expect, it } from "vitest";
import { perSecond, sumStages } from "../../src/timing/statistics.ts";
import { prefill, stage } from "./sweeps.ts";

describe("sumStages", () => {
  it("adds each stage over the sweeps", () => {
    const before = structuredClone(prefill);
    expect(sumStages(prefill)).toEqual({
      sweeps: 2,
      rows: 7,
      ms: 50,
      embedding: stage(8192, 1, 1, 0.2),
      layers: [stage(4_000_000, 5, 3, 11), stage(4_000_000, 5, 0, 15)],
      output: stage(1_000_000, 1, 0.25, 2),
    });
    expect(prefill).toEqual(before);
  });

  it("gives zeros for no sweeps", () => {
    const nothing = stage(0, 0, 0, 0);
    expect(sumStages([])).toEqual({
      sweeps: 0,
      rows: 0,
      ms: 0,
      embedding: nothing,
      layers: [],
      output: nothing,
    });
  });
});

describe("perSecond", () => {
  it("is a rate, and 0 where there was no time", () => {
    expect(perSecond(3, 1500)).toBe(2);
    expect(perSecond(3, 0)).toBe(0);
  });
});
