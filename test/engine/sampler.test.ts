import { describe, expect, it } from "vitest";
import { createSampler } from "../../src/engine/sampler.ts";
import type { SamplingOptions } from "../../src/engine/types.ts";

const all = { topK: 0, topP: 1, minP: 0 };

function counts(logits: Float32Array, draws: number, options: SamplingOptions): number[] {
  const sampler = createSampler(options);
  const count = new Array(logits.length).fill(0);
  for (let draw = 0; draw < draws; draw++) count[sampler.sample(logits, [])]++;
  return count;
}

describe("createSampler", () => {
  it.each([0.5, 1, 2])("draws with the probabilities of softmax(logits / %f)", (temperature) => {
    const logits = Float32Array.of(1, 0, -1, 0.5, 2, -Infinity, -2, 0.25, 1.5, -0.5, 0.75);
    const draws = 50_000;
    const observed = counts(logits, draws, { ...all, temperature, seed: 42 });
    const weights = [...logits].map((logit) => Math.exp(logit / temperature));
    const sum = weights.reduce((a, b) => a + b);
    const chiSquare = weights.reduce((total, weight, id) => {
      const expected = (draws * weight) / sum;
      return expected === 0 ? total : total + (observed[id] - expected) ** 2 / expected;
    }, 0);
    expect(observed[5]).toBe(0);
    // 9 degrees of freedom: 0.1 % of right samplers would be above 27.88.
    expect(chiSquare).toBeLessThan(27.88);
  });

  it("gives the same tokens for the same seed, others for another and for none", () => {
    const logits = new Float32Array(1000);
    const tokens = (options: SamplingOptions) => {
      const sampler = createSampler({ ...all, ...options });
      return Array.from({ length: 8 }, () => sampler.sample(logits, []));
    };
    expect(tokens({ seed: 3 })).toEqual(tokens({ seed: 3 }));
    expect(tokens({ seed: 3 })).not.toEqual(tokens({ seed: 4 }));
    expect(tokens({})).not.toEqual(tokens({}));
  });

  it("takes the most probable token at temperature 0, the lowest id of several", () => {
    const sampler = createSampler({ temperature: 0 });
    expect(sampler.sample(Float32Array.of(-1, 3, 0, 3, 2), [])).toBe(1);
    expect(sampler.sample(Float32Array.of(-Infinity, -5, -5), [])).toBe(1);
    expect(sampler.sample(Float32Array.of(7), [])).toBe(0);
  });

  it("applies the penalty at temperature 0 too, to the last n tokens only, and leaves the logits alone", () => {
    const logits = Float32Array.of(1, 3, 2.9);
    const sampler = createSampler({ temperature: 0, repeatPenalty: 1.5, repeatLastN: 2 });
    expect(sampler.sample(logits, [0, 0, 1])).toBe(2);
    expect(sampler.sample(logits, [1, 0, 0])).toBe(1);
    expect(createSampler({ temperature: 0, repeatPenalty: 1.5, repeatLastN: 0 }).sample(logits, [1])).toBe(1);
    expect([...logits]).toEqual([...Float32Array.of(1, 3, 2.9)]);
  });

  it("stays with what the filters keep", () => {
    const logits = Float32Array.of(5, 4.5, 4, -1, -2);
    const observed = counts(logits, 2000, { topK: 2, topP: 1, minP: 0, temperature: 100, seed: 1 });
    expect(observed.slice(2)).toEqual([0, 0, 0]);
    expect(Math.min(observed[0], observed[1])).toBeGreaterThan(800);
  });

  it("stays sane at extreme temperatures", () => {
    const logits = Float32Array.of(1, 1000, -1000);
    expect(counts(logits, 100, { ...all, temperature: 1e-30, seed: 1 })).toEqual([0, 100, 0]);
    expect(Math.min(...counts(logits, 300, { ...all, temperature: 1e30, seed: 1 }))).toBeGreaterThan(60);
  });

  it.each<[string, SamplingOptions]>([
    ["temperature", { temperature: -0.1 }],
    ["temperature", { temperature: Number.NaN }],
    ["temperature", { temperature: Infinity }],
    ["top-k", { topK: 1.5 }],
    ["top-k", { topK: -1 }],
    ["top-p", { topP: 1.01 }],
    ["top-p", { topP: Number.NaN }],
    ["min-p", { minP: -0.01 }],
    ["repeat penalty", { repeatPenalty: 0 }],
    ["repeat last n", { repeatLastN: -1 }],
    ["seed", { seed: 0.5 }],
  ])("refuses a %s out of range: %o", (name, options) => {
    expect(() => createSampler(options)).toThrow(
      expect.objectContaining({ code: "bad-input", message: expect.stringContaining(name) }),
    );
  });

  it("chooses among 128k tokens in a few milliseconds", () => {
    const logits = Float32Array.from({ length: 128_256 }, (_, id) => Math.sin(id) * 10);
    for (const options of [{}, { topK: 0 }, all]) {
      const sampler = createSampler({ ...options, seed: 1 });
      for (let warm = 0; warm < 5; warm++) sampler.sample(logits, []);
      const start = performance.now();
      for (let run = 0; run < 5; run++) sampler.sample(logits, []);
      expect((performance.now() - start) / 5).toBeLessThan(100);
    }
  });
});

describe("a sampler whose choices are guessed ahead", () => {
  const logits = Float32Array.from({ length: 24 }, (_, id) => Math.sin(id * 1.7) * 2);
  // What a draft thinks of it.
  const guessed = logits.map((logit, id) => logit + Math.cos(id) * 0.5);
  const options = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 11 };
  const draws = 100_000;

  it("draws with the model's probabilities, the same as without, and a draft often guesses right", () => {
    const [sampler, plain] = [createSampler(options), createSampler(options)];
    const counts = new Array<number>(logits.length).fill(0);
    let held = 0;
    for (let draw = 0; draw < draws; draw++) {
      const guess = sampler.fork().sample(guessed, []);
      const id = sampler.sample(logits, []);
      if (id !== plain.sample(logits, [])) throw new Error(`draw ${draw} is another one`);
      counts[id]++;
      if (guess === id) held++;
    }
    const weights = Array.from(logits, Math.exp);
    const sum = weights.reduce((total, weight) => total + weight, 0);
    const chiSquare = counts.reduce((total, count, id) => {
      const expected = (draws * weights[id]) / sum;
      return total + (count - expected) ** 2 / expected;
    }, 0);
    // 23 degrees of freedom: 0.1 % of true samples would be above 49.7.
    expect(chiSquare).toBeLessThan(49.7);
    // Two independent draws agree far less often.
    const independent = weights.reduce((total, weight, id) => {
      const other = Math.exp(guessed[id]) / guessed.reduce((all, logit) => all + Math.exp(logit), 0);
      return total + (weight / sum) * other;
    }, 0);
    expect(held / draws).toBeGreaterThan(2 * independent);
  });

  it("is forked with its state: a fork goes on as it would, and leaves it as it is", () => {
    const sampler = createSampler(options);
    sampler.sample(logits, []);
    const fork = sampler.fork();
    const ahead = Array.from({ length: 5 }, () => fork.sample(logits, []));
    expect(Array.from({ length: 5 }, () => sampler.sample(logits, []))).toEqual(ahead);
  });
});
