import { describe, expect, it } from "vitest";
import { tokenLogprob, topLogprobs } from "../../src/engine/logprobs.ts";

const logits = Float32Array.of(0, 2, 1, 2, -Infinity);
const total = Math.log(1 + 2 * Math.exp(2) + Math.E);

describe("topLogprobs", () => {
  it("gives the most probable tokens with their plain log-probabilities", () => {
    const top = topLogprobs(logits, 3);
    expect(top.map(({ id }) => id)).toEqual([1, 3, 2]);
    for (const { id, logprob } of top) expect(logprob).toBeCloseTo(logits[id] - total, 14);
  });

  it("gives none for 0 and all where more are asked for than there are", () => {
    expect(topLogprobs(logits, 0)).toEqual([]);
    expect(topLogprobs(logits, 9).map(({ id }) => id)).toEqual([1, 3, 2, 0, 4]);
  });

  it("does not overflow", () => {
    const [first] = topLogprobs(Float32Array.of(1e30, 1e30), 1);
    expect(first.logprob).toBeLessThanOrEqual(0);
    expect(topLogprobs(Float32Array.of(5000, 5000), 1)[0].logprob).toBeCloseTo(-Math.LN2, 10);
  });

  it("refuses a count that is none", () => {
    expect(() => topLogprobs(logits, -1)).toThrow(/logprobs is -1/);
  });
});

describe("tokenLogprob", () => {
  it("reports the chosen token also where it is not among the top", () => {
    const { id, logprob, top } = tokenLogprob(logits, 0, 1);
    expect(id).toBe(0);
    expect(logprob).toBeCloseTo(-total, 14);
    expect(top.map((token) => token.id)).toEqual([1]);
  });
});
