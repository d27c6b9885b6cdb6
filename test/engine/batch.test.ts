import { createHash } from "node:crypto";
import { afterAll, describe, expect, it, vi } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { Sequence } from "../../src/engine/kv-cache.ts";
import type { Model } from "../../src/engine/model.ts";
import type { Row } from "../../src/engine/row-filler.ts";
import type { BatchOptions, BatchRequest } from "../../src/index.ts";
import { modelFolder } from "./model-fixture.ts";

const models = modelFolder();
afterAll(() => models.remove());

/** Prompts of all lengths around those where the arithmetic changes, some with a long beginning in common. */
const shared = tokens(150, 1);
const PROMPTS = [
  ...[1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 35, 62, 127, 128, 129, 131, 160, 163, 256, 259].map((length, seed) =>
    tokens(length, seed + 2),
  ),
  ...[1, 5, 30, 45, 120].map((length, seed) => [...shared, ...tokens(length, seed + 50)]),
  [...shared.slice(0, 90), ...tokens(20, 60)],
  [...shared.slice(0, 90), ...tokens(21, 61)],
  shared,
  shared,
];

function tokens(length: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => (Math.imul(i + 1, 2654435761 + seed * 97) >>> 8) % 270);
}

function requestsOf(prompts: readonly (readonly number[])[], maxTokens = 6) {
  return prompts.map((prompt, seed) => {
    const sampling = seed % 2 ? { temperature: 0 } : { seed, temperature: 1.2, topK: 0, topP: 1, minP: 0 };
    return { prompt, sampling, maxTokens: maxTokens + (seed % 5) } satisfies BatchRequest;
  });
}

/** What comes of all requests, by their place among them. */
async function batch<R extends BatchRequest>(
  model: Model,
  requests: readonly R[],
  options: BatchOptions = {},
) {
  const results = new Map<R, string>();
  const order: number[] = [];
  const running = model.batch(requests, options);
  for (;;) {
    const { done, value } = await running.next();
    if (done) return { results: requests.map((request) => results.get(request)), order, summary: value };
    const { request } = value;
    expect(results.has(request)).toBe(false);
    order.push(requests.indexOf(request));
    results.set(
      request,
      "answer" in value ? told(value.answer) : `${value.error.code}: ${value.error.message}`,
    );
  }
}

const told = ({ stop, ids, text }: { stop: string; ids: readonly number[]; text: string }) =>
  JSON.stringify([stop, ids, text]);

/** The same, each alone in a session. */
async function alone(model: Model, requests: readonly BatchRequest[]): Promise<string[]> {
  const results: string[] = [];
  for (const { prompt, ...options } of requests) {
    const generation = model.createSession().generate(prompt, options);
    for (;;) {
      const { done, value } = await generation.next();
      if (!done) continue;
      results.push(told(value));
      break;
    }
  }
  return results;
}

/** Hashes of all logits that come out of sweeps from now on, by the tokens that they follow. */
function watchLogits() {
  const seen = new Map<string, string>();
  const texts = new WeakMap<Sequence, number[]>();
  const textOf = (sequence: Sequence) => texts.get(sequence) ?? texts.set(sequence, []).get(sequence)!;
  const { sweep } = Engine.prototype;
  const spies = [
    vi.spyOn(Engine.prototype, "sweep").mockImplementation(async function (
      this: Engine,
      rows: readonly Row[],
      options,
    ) {
      for (const { sequence, position, token } of rows) textOf(sequence)[position] = token;
      const result = await sweep.call(this, rows, options);
      for (const [index, { sequence, position }] of rows.filter((row) => row.logits).entries()) {
        const key = textOf(sequence)
          .slice(0, position + 1)
          .join(" ");
        const hash = createHash("sha1")
          .update(Buffer.from(result.logits[index].slice().buffer))
          .digest("hex");
        expect(seen.get(key) ?? hash).toBe(hash);
        seen.set(key, hash);
      }
      return result;
    }),
  ];
  const { beginAs } = Sequence.prototype;
  spies.push(
    vi.spyOn(Sequence.prototype, "beginAs").mockImplementation(function (this: Sequence, other, length) {
      texts.set(this, textOf(other).slice(0, length));
      beginAs.call(this, other, length);
    }) as never,
  );
  return { seen, stop: () => spies.map((spy) => spy.mockRestore()) };
}

describe("a batch", () => {
  it.each([
    ["f32", { type: "f32" }, { dtype: "f32" }],
    ["f16", { type: "f16" }, { dtype: "f16" }],
    ["bf16", { type: "bf16" }, { dtype: "native" }],
    ["q8", { type: "q8_0" }, { dtype: "q8" }],
    ["q8, KV of 8 bits", { type: "q8_0" }, { dtype: "q8", kvType: "q8" }],
    ["q4_0", { type: "q4_0", width: 128 }, { dtype: "native" }],
    ["q4_K", { type: "q4_K", width: 256, feedForward: 512 }, { dtype: "native" }],
    ["q6_K, one thread", { type: "q6_K", width: 256, feedForward: 512 }, { dtype: "native", threads: 1 }],
  ] as const)("gives to the bit what each request alone gives: %s", async (_, changes, options) => {
    const model = await models.open(models.make(changes as never), { ...options, parallel: 40 });
    const requests = requestsOf(PROMPTS);
    const logits = watchLogits();
    try {
      const want = await alone(model, requests);
      const [once, some, all] = [
        await batch(model, requests, { parallel: 1 }),
        await batch(model, requests, { parallel: 7 }),
        await batch(model, requests),
      ];
      expect(once.results).toEqual(want);
      expect(some.results).toEqual(want);
      expect(all.results).toEqual(want);
      expect(all.summary).toMatchObject({ answers: requests.length, errors: 0, parallel: requests.length });
      expect(some.summary.parallel).toBe(7);
      expect(all.summary.sweeps).toBeLessThan(40);
      expect(logits.seen.size).toBeGreaterThan(150);
    } finally {
      logits.stop();
      await model.close();
    }
  });
});
