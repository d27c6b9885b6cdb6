import { expect, it } from "vitest";
import { choose } from "../../src/engine/explain.ts";
import { createSampler } from "../../src/engine/sampler.ts";
import type { SamplingOptions } from "../../src/engine/types.ts";

/** Logits of these probabilities. */
const logitsOf = (probabilities: readonly number[]) => Float32Array.from(probabilities, Math.log);
const PROBABILITIES = [0.02, 0.5, 0.2, 0.15, 0.08, 0.05];

function explain(options: SamplingOptions, { most = 6, history = [] as number[] } = {}) {
  return choose(createSampler({ seed: 1, ...options }), logitsOf(PROBABILITIES), history, most);
}

it("names the step that removed a candidate, and what each left", () => {
  const { choice } = explain({ temperature: 1, topK: 5, topP: 0.8, minP: 0.35 });
  const { candidates, steps } = choice!;
  expect(candidates.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 0]);
  expect(candidates.map(({ removed }) => removed)).toEqual([
    undefined,
    undefined,
    "min-p",
    "top-p",
    "top-p",
    "top-k",
  ]);
  for (const { id, before } of candidates) expect(before).toBeCloseTo(PROBABILITIES[id], 6);
  expect(candidates[0].after).toBeCloseTo(0.5 / 0.7, 6);
  expect(candidates[1].after).toBeCloseTo(0.2 / 0.7, 6);
  expect(candidates.slice(2).map(({ after }) => after)).toEqual([0, 0, 0, 0]);
  expect(steps.map(({ step, left }) => [step, left])).toEqual([
    ["top-k", 5],
    ["top-p", 3],
    ["min-p", 2],
  ]);
  expect(steps[0].mass).toBeCloseTo(0.98, 6);
  expect(steps[2].mass).toBeCloseTo(0.7, 6);
});

it("gives the probabilities that the temperature makes", () => {
  const { choice } = explain({ temperature: 0.5, topK: 2, topP: 1, minP: 0 });
  expect(choice!.candidates[0].after).toBeCloseTo(0.25 / (0.25 + 0.04), 6);
});

it("tells of the penalty, and of the best one at temperature 0", () => {
  const { id, choice } = explain({ temperature: 0, repeatPenalty: 10 }, { history: [1] });
  expect(id).toBe(2);
  expect(choice!.steps).toEqual([{ step: "repeat-penalty", left: 6, mass: expect.closeTo(1, 6) }]);
  expect(choice!.candidates.map(({ after }) => after)).toEqual([0, 1, 0, 0, 0, 0]);
});

it("reports the chosen one though it is none of the best, and chooses as without", () => {
  const options = { temperature: 1e6, topK: 0, topP: 1, minP: 0 };
  const plain = createSampler({ seed: 9, ...options });
  const told = createSampler({ seed: 9, ...options });
  let outside = 0;
  for (let round = 0; round < 50; round++) {
    const logits = logitsOf(PROBABILITIES);
    const { id, choice } = choose(told, logits, [], 2);
    expect(id).toBe(plain.sample(logits, []));
    const ids = choice!.candidates.map((candidate) => candidate.id);
    expect(ids.slice(0, 2)).toEqual([1, 2]);
    expect(ids).toContain(id);
    if (ids.length === 3) outside++;
  }
  expect(outside).toBeGreaterThan(10);
});

it.each([0, -1, 1.5])("refuses %d candidates", (most) => {
  expect(() => explain({}, { most })).toThrow(expect.objectContaining({ code: "bad-input" }));
});
