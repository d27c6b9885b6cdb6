import { describe, expect, it } from "vitest";
import { Candidates } from "../../src/engine/candidates.ts";
import { type Filter, keepMinP, keepTopK, keepTopP, penalizeRepeats } from "../../src/engine/filters.ts";
import { createRandom } from "../../src/engine/random.ts";

const VOCABULARY = 500;

/** Logits between -6 and 6 in steps of a quarter, so that many are equal. */
function randomLogits(seed: number): Float32Array {
  const random = createRandom(seed);
  return Float32Array.from({ length: VOCABULARY }, () => Math.round((random() * 12 - 6) * 4) / 4);
}

function kept(logits: Float32Array, filter: Filter): number[] {
  const candidates = new Candidates(logits.length);
  candidates.load(logits);
  filter(candidates);
  const ids = [...candidates.ids.subarray(0, candidates.count)];
  for (const [entry, id] of ids.entries()) expect(candidates.logits[entry]).toBe(logits[id]);
  return ids;
}

/** All ids, the most probable first, the lower id first among equals. */
function ranked(logits: Float32Array): number[] {
  return [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b);
}

function probabilities(logits: Float32Array): number[] {
  const weights = [...logits].map(Math.exp);
  const sum = weights.reduce((a, b) => a + b);
  return weights.map((weight) => weight / sum);
}

const seeds = [1, 2, 3, 4, 5];

describe("filters against their definitions", () => {
  it.each(seeds)("top-k, seed %i", (seed) => {
    const logits = randomLogits(seed);
    for (const k of [1, 2, 40, 249, 250, 251, 499]) {
      expect(kept(logits, keepTopK(k))).toEqual(ranked(logits).slice(0, k));
    }
    for (const k of [0, VOCABULARY, VOCABULARY + 1])
      expect(kept(logits, keepTopK(k))).toHaveLength(VOCABULARY);
  });

  it.each(seeds)("top-p, seed %i", (seed) => {
    const logits = randomLogits(seed);
    const p = probabilities(logits);
    for (const limit of [0, 0.01, 0.3, 0.5, 0.9, 0.95, 0.999]) {
      const wanted: number[] = [];
      let mass = 0;
      for (const id of ranked(logits)) {
        wanted.push(id);
        mass += p[id];
        if (mass >= limit) break;
      }
      expect(kept(logits, keepTopP(limit))).toEqual(wanted);
    }
    expect(kept(logits, keepTopP(1))).toHaveLength(VOCABULARY);
  });

  it.each(seeds)("min-p, seed %i", (seed) => {
    const logits = randomLogits(seed);
    const p = probabilities(logits);
    const most = Math.max(...p);
    for (const share of [1e-4, 0.06, 0.3, 0.93]) {
      const wanted = [...logits.keys()].filter((id) => p[id] >= share * most);
      expect(kept(logits, keepMinP(share))).toEqual(wanted);
    }
    expect(kept(logits, keepMinP(0))).toHaveLength(VOCABULARY);
  });

  it("top-p counts the probabilities of what top-k left", () => {
    const logits = Float32Array.from([0, 0, 0, 0, -1, -1, -1, -1]);
    const candidates = new Candidates(logits.length);
    candidates.load(logits);
    keepTopK(4)(candidates);
    keepTopP(0.5)(candidates);
    expect([...candidates.ids.subarray(0, candidates.count)]).toEqual([0, 1]);
  });

  it("the repeat penalty weakens each recent token once", () => {
    const candidates = new Candidates(4);
    candidates.load(Float32Array.of(2, -2, 0, 1));
    penalizeRepeats(candidates, [0, 1, 1, 2, 0], 2);
    expect([...candidates.logits]).toEqual([1, -4, 0, 1]);
  });
});

describe("logits that are no distribution", () => {
  it.each([
    ["NaN", [0, Number.NaN, 1], /token 1 is NaN/],
    ["+Infinity", [0, 1, Infinity], /token 2 is Infinity/],
    ["nothing but -Infinity", [-Infinity, -Infinity], /all 2 logits are -Infinity/],
  ])("%s is said", (_, logits, message) => {
    const candidates = new Candidates(logits.length);
    expect(() => candidates.load(Float32Array.from(logits))).toThrow(message);
  });
});
