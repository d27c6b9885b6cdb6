import { describe, expect, it } from "vitest";
import { perSecond, sumStages } from "../../src/timing/statistics.ts";
import { prefill, stage } from "./sweeps.ts";

/** As a sum has it: attention and feed-forward too, though no stage told them. */
const sum = (...figures: Parameters<typeof stage>) => ({
  ...stage(...figures),
  attentionMs: 0,
  feedForwardMs: 0,
});

describe("sumStages", () => {
  it("adds each stage over the sweeps", () => {
    const before = structuredClone(prefill);
    expect(sumStages(prefill)).toEqual({
      sweeps: 2,
      ...{ tokens: 7, guessed: 0, held: 0, guessMs: 0 },
      ms: 50,
      embedding: sum(8192, 1, 1, 0.2),
      layers: [sum(4_000_000, 5, 3, 11), sum(4_000_000, 5, 0, 15)],
      output: sum(1_000_000, 1, 0.25, 2),
    });
    expect(prefill).toEqual(before);
  });

  it("adds attention and feed-forward where layers tell them", () => {
    const [first] = prefill;
    const told = { ...stage(1, 1, 1, 5), attentionMs: 2, feedForwardMs: 3 };
    const { layers } = sumStages([first, first].map((sweep) => ({ ...sweep, layers: [told] })));
    expect(layers).toEqual([{ ...stage(2, 2, 2, 10), attentionMs: 4, feedForwardMs: 6 }]);
  });

  it("gives zeros for no sweeps", () => {
    const nothing = sum(0, 0, 0, 0);
    expect(sumStages([])).toEqual({
      sweeps: 0,
      ...{ tokens: 0, guessed: 0, held: 0, guessMs: 0 },
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
