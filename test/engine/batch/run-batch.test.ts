import { createHash } from "node:crypto";
import { afterAll, describe, expect, it, vi } from "vitest";
import { Engine } from "../../../src/engine/engine.ts";
import { KvPool } from "../../../src/engine/kv-cache.ts";
import { Sequence } from "../../../src/engine/kv-sequence.ts";
import type { Model } from "../../../src/engine/model.ts";
import type { Row } from "../../../src/engine/row-filler.ts";
import { SluiceError } from "../../../src/errors.ts";
import type { BatchOptions, BatchRequest } from "../../../src/index.ts";
import { modelFolder } from "../model-fixture.ts";

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

  it("computes what prompts begin with in common only once", async () => {
    const model = await models.open(models.make({ type: "q8_0" }), { dtype: "q8", parallel: 32 });
    const requests = Array.from({ length: 32 }, (_, seed) => ({
      prompt: [...tokens(400, 7), ...tokens(12, seed + 20)],
      sampling: { temperature: 0 },
      maxTokens: 3,
    }));
    const { results, summary } = await batch(model, requests);
    expect(results).toEqual(await alone(model, requests));
    expect(summary.reused).toBe(31 * 400);
    expect(summary.promptRows).toBe(32 * 412 - summary.reused);
    // Four for the beginning, four for what is left, two for the other tokens, and one where a part waits.
    expect(summary.sweeps).toBeLessThan(12);
    await model.close();
  });

  it("lets sequences wait and begin again where memory is short, and gives the same", async () => {
    const model = await models.open(models.make({ type: "q8_0", context: 2048 }), {
      dtype: "q8",
      parallel: 8,
    });
    const requests = Array.from({ length: 12 }, (_, seed) => ({
      prompt: tokens(40 + seed * 9, seed),
      sampling: { seed, temperature: 1.5 },
      maxTokens: 200,
    }));
    const want = await alone(model, requests);
    let taken = 0;
    let most = 0;
    const { take, give } = KvPool.prototype;
    const full = () => new SluiceError("context-full", "full");
    const spies = [
      vi.spyOn(KvPool.prototype, "take").mockImplementation(function (this: KvPool) {
        if (taken === 11) throw full();
        most = Math.max(most, ++taken);
        return take.call(this);
      }),
      vi.spyOn(KvPool.prototype, "give").mockImplementation(function (this: KvPool, block) {
        if (!this.isShared(block)) taken--;
        give.call(this, block);
      }),
      // As if there were more room than there is.
      vi.spyOn(KvPool.prototype, "room").mockImplementation(() => 20 - taken),
    ];
    try {
      const { results, summary } = await batch(model, requests);
      expect(results).toEqual(want);
      expect(summary.restarts).toBeGreaterThan(0);
      expect(summary.parallel).toBeGreaterThan(1);
      expect(most).toBe(11);
      expect(taken).toBe(0);
      const [long] = requestsOf([tokens(800, 1)]);
      expect((await batch(model, [long, requests[0]])).results).toEqual(["context-full: full", want[0]]);
    } finally {
      for (const spy of spies) spy.mockRestore();
      await model.close();
    }
  });

  it("gives an error for a request that makes no sense, and answers the others", async () => {
    const model = await models.open(models.make(), { contextLength: 100, parallel: 4 });
    const good = { prompt: tokens(90, 3), sampling: { temperature: 0 } };
    const requests: BatchRequest[] = [
      { prompt: [] },
      { prompt: tokens(101, 1) },
      { prompt: [1, 2, 100_000] },
      { prompt: [1], sampling: { temperature: -1 } },
      { prompt: [1], stop: [""] },
      { prompt: [1], maxTokens: Number.NaN },
      { prompt: [1, 2], maxTokens: 0 },
      good,
    ];
    const { results, summary } = await batch(model, requests);
    expect(results.slice(0, 6)).toEqual([
      "bad-input: the prompt is empty: it has no tokens",
      "context-full: the prompt has 101 tokens, and the context holds 100",
      "bad-input: token 100000 is not in the vocabulary of 512",
      "bad-input: temperature is -1, but must be a number from 0 up",
      "bad-input: a text to stop at is empty",
      "bad-input: maxTokens is NaN, but must be a number from 0 up",
    ]);
    expect(results.slice(6)).toEqual([JSON.stringify(["length", [], ""]), ...(await alone(model, [good]))]);
    expect(summary).toMatchObject({ answers: 2, errors: 6 });
    await model.close();
  });

  it("takes requests as they come, and begins with those that are there", async () => {
    const model = await models.open(models.make(), { parallel: 4 });
    const [first, second] = requestsOf([tokens(5, 1), tokens(6, 2)]);
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    async function* source() {
      yield first;
      await gate;
      yield second;
    }
    const order: BatchRequest[] = [];
    for await (const { request } of model.batch(source())) {
      order.push(request);
      open();
    }
    expect(order).toEqual([first, second]);
    await model.close();
  });

  it("can be stopped and left, and passes on what its source throws", async () => {
    const model = await models.open(models.make(), { parallel: 4 });
    const requests = requestsOf([tokens(5, 1), tokens(60, 2)], 500);
    const stop = new AbortController();
    const stopped = batch(model, requests, {
      signal: stop.signal,
      onProgress: ({ sweeps }) => sweeps > 3 && stop.abort(),
    });
    await expect(stopped).rejects.toMatchObject({ code: "aborted" });
    const waiting = new AbortController();
    setTimeout(() => waiting.abort(), 20);
    const endless = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
    await expect(model.batch(endless, { signal: waiting.signal }).next()).rejects.toMatchObject({
      code: "aborted",
    });
    function* broken(): Generator<BatchRequest> {
      yield requests[0];
      throw new Error("no more");
    }
    await expect(batch(model, broken() as never)).rejects.toThrow("no more");
    for await (const _ of model.batch(requestsOf([tokens(5, 1), tokens(60, 2)]))) break;
    expect(await alone(model, requestsOf([tokens(5, 1)]))).toHaveLength(1);
    await model.close();
  });
});
