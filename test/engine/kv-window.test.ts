import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { kvBlockBytes } from "../../src/engine/kv-block.ts";
import type { Model } from "../../src/engine/model.ts";
import type { Session } from "../../src/engine/session.ts";
import type { GenerateOptions, GenerateResult } from "../../src/engine/types.ts";
import { SluiceError } from "../../src/errors.ts";
import { PromptStore } from "../../src/prompt-store/prompt-store.ts";
import { modelFolder } from "./model-fixture.ts";

const models = modelFolder();
afterAll(() => models.remove());

const CONTEXT = 512;
const tokens = (length: number, seed = 0) =>
  Array.from({ length }, (_, i) => (Math.imul(i + 1, 2654435761 + seed * 97) >>> 8) % 270);

async function finish(session: Session, prompt: readonly number[], options: GenerateOptions = {}) {
  const generation = session.generate(prompt, { sampling: { temperature: 0 }, logprobs: 5, ...options });
  const logprobs: unknown[] = [];
  for (;;) {
    const { done, value } = await generation.next();
    if (done) return { ...(value satisfies GenerateResult), logprobs };
    logprobs.push(value.logprob);
  }
}

const hashes = (session: Session) =>
  session
    .snapshot()
    .blocks.map(({ bytes }) => createHash("sha1").update(Uint8Array.from(bytes)).digest("hex"));

/** A conversation with all that happens to a KV cache: it grows, is cut in the midst of a block, and grows again. */
async function converse(model: Model) {
  const session = model.createSession();
  const first = await finish(session, tokens(190), { maxTokens: 70 });
  const second = await finish(session, [...tokens(190), ...first.ids, ...tokens(30, 3)], { maxTokens: 5 });
  const third = await finish(session, [...tokens(100), ...tokens(150, 4)], { maxTokens: 5 });
  const other = await finish(model.createSession(), tokens(70, 5), { maxTokens: 5 });
  const told = [first, second, third, other].map(({ ids, logprobs, reused }) => ({ ids, logprobs, reused }));
  return { told, kv: hashes(session) };
}

/** Bytes for so many layers of a context, and the window. */
function bytesFor(model: Model, layers: number): number {
  const { layers: all } = model.manifest.model;
  const block = kvBlockBytes(model.manifest.model, model.memory().kvType);
  return ((layers + 1) * block * (CONTEXT / 64)) / all.length;
}

describe("keys and values that do not stay in memory", () => {
  it.each([
    ["f32", { type: "f32" }, {}],
    ["f16", { type: "f16" }, { dtype: "f16" }],
    ["q8", { type: "q8_0" }, { dtype: "q8", kvType: "q8", threads: 3 }],
    ["one thread", { type: "q8_0" }, { dtype: "q8", threads: 1 }],
  ] as const)("give the same to the bit: %s", async (_, changes, options) => {
    const path = models.make({ ...changes, layers: 4, context: CONTEXT } as never);
    const plain = await models.open(path, options);
    const want = await converse(plain);
    const { parallel: _p, ...rest } = { parallel: 1, ...options };
    for (const layers of [0, 1, 2, 3]) {
      const model = await models.open(path, { ...rest, kvRam: bytesFor(plain, layers) });
      expect(await converse(model), `${layers} layers in memory`).toEqual(want);
      await model.close();
    }
    await plain.close();
    expect(readdirSync(`${models.folder}/cache`).filter((name) => name.includes("kv"))).toEqual([]);
  });

  it("are saved, restored and kept as others are", async () => {
    const path = models.make({ layers: 4, context: CONTEXT } as never);
    const plain = await models.open(path);
    const whole = plain.createSession();
    await finish(whole, tokens(300), { maxTokens: 4 });
    const { ids, blocks } = whole.snapshot();
    const saved = blocks.map(({ bytes }) => Uint8Array.from(bytes));
    const question = [...ids, 1, 2, 3];
    const want = await finish(whole, question, { maxTokens: 4 });

    const model = await models.open(path, { kvRam: bytesFor(plain, 1) });
    const session = model.createSession();
    await session.restore(ids, (target, index) => target.set(saved[index]));
    expect((await finish(session, question, { maxTokens: 4 })).logprobs).toEqual(want.logprobs);
    // There is room for one whole context.
    session.reset();
    const store = () => new PromptStore(model, { worthMs: 0 });
    const keeping = model.createSession({ promptCache: store() });
    await finish(keeping, tokens(300), { maxTokens: 1 });
    keeping.reset();
    const recalled = await finish(model.createSession({ promptCache: store() }), tokens(300), {
      maxTokens: 4,
    });
    expect(recalled.recalled).toBe(256);
    expect(recalled.ids).toEqual((await finish(plain.createSession(), tokens(300), { maxTokens: 4 })).ids);
    await plain.close();
    await model.close();
  });

  it("are whole after a sweep that was stopped", async () => {
    const path = models.make({ layers: 4, context: CONTEXT } as never);
    const plain = await models.open(path);
    const want = await finish(plain.createSession(), tokens(400), { maxTokens: 6 });
    const model = await models.open(path, { kvRam: bytesFor(plain, 1) });
    const session = model.createSession();
    // Other tokens first, so that blocks are used again.
    await finish(session, tokens(400, 8), { maxTokens: 3 });
    for (const delay of [1, 3, 6, 10, 15, 25]) {
      const stop = new AbortController();
      setTimeout(() => stop.abort(), delay);
      session.reset();
      await finish(session, tokens(400), { maxTokens: 1, signal: stop.signal });
      const { ids, logprobs } = await finish(session, tokens(400, 9), { maxTokens: 1 });
      expect(ids.length + logprobs.length).toBe(2);
    }
    session.reset();
    const got = await finish(session, tokens(400), { maxTokens: 6 });
    expect({ ids: got.ids, logprobs: got.logprobs }).toEqual({ ids: want.ids, logprobs: want.logprobs });
    await plain.close();
    await model.close();
  });

  it("serve a batch, whose sequences share them", async () => {
    const path = models.make({ layers: 4, context: CONTEXT } as never);
    const requests = Array.from({ length: 6 }, (_, seed) => ({
      prompt: [...tokens(150), ...tokens(20 + seed, seed + 1)],
      maxTokens: 8,
      sampling: { temperature: 0 },
    }));
    const answers = async (kvRam?: number) => {
      const model = await models.open(path, { parallel: 6, contextLength: 300, kvRam });
      const found = new Map<unknown, readonly number[]>();
      for await (const result of model.batch(requests))
        found.set(result.request, "answer" in result ? result.answer.ids : []);
      await model.close();
      return requests.map((request) => found.get(request));
    };
    const want = await answers();
    expect(want.every((ids) => ids!.length > 0)).toBe(true);
    expect(await answers(1_000_000)).toEqual(want);
  });

  it("are refused less than a window", async () => {
    const path = models.make({ layers: 4, context: CONTEXT } as never);
    await expect(models.open(path, { kvRam: 1000 })).rejects.toThrow(SluiceError);
    await expect(models.open(path, { kvRam: 1000 })).rejects.toThrow(
      /--kv-ram 1\.00 kB is less than one layer/,
    );
  });
});
