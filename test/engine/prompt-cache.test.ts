import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Model } from "../../src/engine/model.ts";
import type { PromptCache } from "../../src/engine/prompt-cache.ts";
import type { Session } from "../../src/engine/session.ts";
import type { GenerateOptions, GenerateResult } from "../../src/engine/types.ts";
import { PromptStore } from "../../src/prompt-store/prompt-store.ts";
import { isPromptFile } from "../../src/store/names.ts";
import { modelFolder } from "./model-fixture.ts";

let models: ReturnType<typeof modelFolder>;
beforeEach(() => {
  models = modelFolder();
});
afterEach(() => models.remove());

const tokens = (length: number, seed = 0) =>
  Array.from({ length }, (_, i) => (Math.imul(i + 1, 2654435761 + seed * 97) >>> 8) % 270);

async function finish(
  session: Session,
  prompt: readonly number[],
  options: GenerateOptions = {},
): Promise<GenerateResult & { logprobs: unknown[] }> {
  const generation = session.generate(prompt, {
    sampling: { temperature: 0 },
    maxTokens: 12,
    logprobs: 5,
    ...options,
  });
  const logprobs: unknown[] = [];
  for (;;) {
    const { done, value } = await generation.next();
    if (done) return { ...value, logprobs };
    logprobs.push(value.logprob);
  }
}

const hashes = (session: Session) =>
  session
    .snapshot()
    .blocks.map(({ bytes }) => createHash("sha1").update(Uint8Array.from(bytes)).digest("hex"));

const everything = { worthMs: 0 };

/** A session of its own each time: what it gives, and what is in its KV cache afterwards. */
async function ask(
  model: Model,
  prompt: readonly number[],
  promptCache?: PromptCache,
  options?: GenerateOptions,
) {
  const session = model.createSession({ promptCache });
  const { ids, logprobs, recalled, reused, prefill } = await finish(session, prompt, options);
  return { ids, logprobs, kv: hashes(session), recalled, reused, sweeps: prefill.map(({ rows }) => rows) };
}

const files = (model: Model) => readdirSync(model.folder).filter(isPromptFile).sort();

describe("kept beginnings of prompts", () => {
  it.each([
    ["f32", { type: "f32" }, { dtype: "f32" }],
    ["f16", { type: "f16" }, { dtype: "f16" }],
    ["q8", { type: "q8_0" }, { dtype: "q8" }],
    ["q8, KV of 8 bits", { type: "q8_0" }, { dtype: "q8", kvType: "q8" }],
    ["q4_K", { type: "q4_K", width: 256, feedForward: 512 }, { dtype: "native" }],
  ] as const)("give to the bit what computing them gives: %s", async (_, changes, options) => {
    const path = models.make({ ...changes, context: 700 } as never);
    const beginning = tokens(300);
    const prompts = [128, 129, 256, 257, 301, 385, 450].map((length, seed) =>
      [...beginning, ...tokens(300, seed + 1)].slice(0, length),
    );
    const plain = await models.open(path, options);
    const want = [];
    for (const prompt of prompts) want.push(await ask(plain, prompt));
    await plain.close();

    let model = await models.open(path, options);
    await ask(model, [...beginning, ...tokens(100, 99)], new PromptStore(model, everything));
    expect(files(model)).toHaveLength(3);
    await model.close();

    // Another number of threads, and another process as far as can be seen.
    model = await models.open(path, { ...options, threads: 3 });
    for (const [index, prompt] of prompts.entries()) {
      const got = await ask(model, prompt, new PromptStore(model, everything));
      const { ids, logprobs, kv } = want[index];
      expect(got).toMatchObject({ ids, logprobs, kv });
      const kept = Math.min(256, Math.floor((prompt.length - 1) / 128) * 128);
      expect(got).toMatchObject({ recalled: kept, reused: kept });
      expect(got.sweeps.reduce((sum, rows) => sum + rows, 0)).toBe(prompt.length - kept);
    }
    await model.close();
  });

  it("lets an interrupted prompt go on where it was", async () => {
    const model = await models.open(models.make({ context: 700 }));
    const prompt = tokens(600);
    const want = await ask(model, prompt);
    const promptCache = new PromptStore(model, everything);
    const stop = new AbortController();
    const { stop: why } = await finish(model.createSession({ promptCache }), prompt, {
      signal: stop.signal,
      onProgress: ({ rowsDone }) => rowsDone >= 256 && stop.abort(),
    });
    if (why === "abort") expect(files(model).length).toBeGreaterThanOrEqual(2);
    const { ids, logprobs, kv } = want;
    const got = await ask(model, prompt, promptCache);
    expect(got).toMatchObject({ ids, logprobs, kv });
    expect(got.recalled).toBeGreaterThanOrEqual(256);
    await model.close();
  });

  it("takes what the session has where that is more, and what is kept where that is", async () => {
    const model = await models.open(models.make({ context: 700 }));
    const promptCache = new PromptStore(model, everything);
    const prompt = tokens(300);
    const session = model.createSession({ promptCache });
    await finish(session, prompt);
    expect(await finish(session, [...prompt, 1])).toMatchObject({ reused: 300, recalled: 0 });
    const other = tokens(300, 5);
    await finish(session, other);
    expect(await finish(session, prompt)).toMatchObject({ reused: 256, recalled: 256 });
    await model.close();
  });

  it("computes what is damaged, and takes it away", async () => {
    const model = await models.open(models.make({ context: 700 }));
    const prompt = tokens(520);
    const want = await ask(model, prompt, new PromptStore(model, everything));
    const names = files(model);
    expect(names).toHaveLength(4);
    for (const [how, harm] of [
      [
        "a bit",
        (bytes: Buffer) => bytes.fill(bytes[bytes.length - 9] ^ 4, bytes.length - 9, bytes.length - 8),
      ],
      ["cut", (bytes: Buffer) => bytes.subarray(0, bytes.length - 1)],
      ["empty", () => Buffer.alloc(0)],
      ["another's", () => readFileSync(join(model.folder, names[0]))],
      ["header", (bytes: Buffer) => bytes.fill(7, 50, 51)],
    ] as const) {
      const name = names[1];
      const path = join(model.folder, name);
      const sound = readFileSync(path);
      writeFileSync(path, harm(Buffer.from(sound)));
      const got = await ask(model, prompt, new PromptStore(model, everything));
      expect(got, how).toMatchObject({ ids: want.ids, logprobs: want.logprobs, kv: want.kv });
      expect(got.recalled, how).toBeLessThan(512);
      expect(readFileSync(path).equals(sound), how).toBe(true);
    }
    await model.close();
  });

  it("are found only by the same model and type of KV cache", async () => {
    const path = models.make({ context: 700 });
    const prompt = tokens(200);
    const kept = [];
    for (const kvType of ["f32", "f16", "q8"] as const) {
      const model = await models.open(path, { kvType });
      kept.push((await ask(model, prompt, new PromptStore(model, everything))).recalled);
      kept.push((await ask(model, prompt, new PromptStore(model, everything))).recalled);
      await model.close();
    }
    expect(kept).toEqual([0, 128, 0, 128, 0, 128]);
  });

  it("stay within their bytes: those used longest ago go, ends before beginnings", async () => {
    const model = await models.open(models.make({ context: 700 }));
    const [first, second, third] = [tokens(390, 1), tokens(390, 2), tokens(270, 3)];
    await ask(model, first, new PromptStore(model, everything));
    const bytes = statSync(join(model.folder, files(model)[0])).size;
    const small = () => new PromptStore(model, { ...everything, bytes: 6.5 * bytes });
    const ago = Date.now() / 1000 - 100;
    for (const name of files(model)) utimesSync(join(model.folder, name), ago, ago);
    await ask(model, second, small());
    // The first is used again, in part, so the second is older now.
    await ask(model, first.slice(0, 260), small());
    await ask(model, third, small());
    expect(files(model)).toHaveLength(6);
    expect((await ask(model, first, small())).recalled).toBeGreaterThanOrEqual(256);
    // Too long for it as a whole: its beginning is kept all the same.
    const tiny = new PromptStore(model, { ...everything, bytes: 2.5 * bytes });
    await ask(model, tokens(600, 9), tiny);
    expect((await ask(model, tokens(600, 9), tiny)).recalled).toBe(256);
    expect(files(model)).toHaveLength(2);
    await model.close();
  });

  it("keep nothing that is computed in a blink, and readable by nobody else", async () => {
    const model = await models.open(models.make({ context: 700 }));
    await ask(model, tokens(300), new PromptStore(model, { worthMs: 1e9 }));
    expect(files(model)).toEqual([]);
    await ask(model, tokens(300), new PromptStore(model, everything));
    expect(files(model)).toHaveLength(2);
    if (process.platform !== "win32")
      for (const name of files(model)) expect(statSync(join(model.folder, name)).mode & 0o777).toBe(0o600);
    await model.close();
  });

  it("may be written by several at once", async () => {
    const path = models.make({ context: 700 });
    const prompt = tokens(650);
    const opened = await Promise.all([1, 2, 3].map(() => models.open(path, { threads: 1 })));
    const results = await Promise.all(
      opened.map((model) => ask(model, prompt, new PromptStore(model, everything))),
    );
    for (const { ids, logprobs, kv } of results) expect(results[0]).toMatchObject({ ids, logprobs, kv });
    expect(files(opened[0])).toHaveLength(5);
    expect((await ask(opened[0], prompt, new PromptStore(opened[0], everything))).recalled).toBe(640);
    for (const model of opened) await model.close();
  });
});

describe("a batch", () => {
  it("keeps what two prompts share, and nothing else", async () => {
    const model = await models.open(models.make({ context: 700, type: "q8_0" } as never), {
      dtype: "q8",
      parallel: 8,
    });
    const shared = tokens(300);
    const prompts = [
      ...[3, 50, 128, 200].map((length, seed) => [...shared, ...tokens(length, seed + 1)]),
      tokens(400, 77),
    ];
    const requests = prompts.map((prompt) => ({ prompt, maxTokens: 5, sampling: { temperature: 0 } }));
    const run = async (promptCache?: PromptCache) => {
      const found = new Map<unknown, readonly number[]>();
      const running = model.batch(requests, { promptCache });
      for (;;) {
        const { done, value } = await running.next();
        if (done) return { summary: value, answers: requests.map((request) => found.get(request)) };
        if ("answer" in value) found.set(value.request, value.answer.ids);
      }
    };
    const plain = await run();
    const first = await run(new PromptStore(model, everything));
    expect(files(model)).toHaveLength(2);
    const again = await run(new PromptStore(model, everything));
    expect(first.answers).toEqual(plain.answers);
    expect(again.answers).toEqual(plain.answers);
    expect(first.summary).toMatchObject({ recalled: 0, reused: plain.summary.reused });
    expect(again.summary.recalled).toBe(256);
    expect(again.summary.promptRows).toBe(plain.summary.promptRows - 256);
    // A session alone finds them too.
    expect(await ask(model, prompts[1], new PromptStore(model, everything), { maxTokens: 5 })).toMatchObject({
      recalled: 256,
      ids: plain.answers[1],
    });
    await model.close();
  });
});
