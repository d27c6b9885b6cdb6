import { spawnSync } from "node:child_process";
import { truncateSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Model } from "../../src/engine/model.ts";
import type { Session } from "../../src/engine/session.ts";
import type { GenerateOptions, GenerateResult } from "../../src/engine/types.ts";
import { fileLogits, modelFolder } from "./model-fixture.ts";

const prompt = [5, 100, 7, 250, 31, 5, 5, 199, 64, 1, 2, 3];
const greedy = { temperature: 0 };

async function finish(
  session: Session,
  ids: readonly number[],
  options: GenerateOptions,
): Promise<GenerateResult> {
  const tokens = session.generate(ids, { sampling: greedy, ...options });
  for (;;) {
    const next = await tokens.next();
    if (next.done) return next.value;
  }
}

describe("a session", () => {
  const models = modelFolder();
  afterAll(() => models.remove());
  const path = models.make({ context: 400 });

  it("takes the most probable token at temperature 0", async () => {
    const model = await models.open(path);
    const { ids } = await finish(model.createSession(), prompt, { maxTokens: 8 });
    const all = [...prompt, ...ids];
    const want = fileLogits(path, all.slice(0, -1)).slice(prompt.length - 1);
    expect(ids).toEqual(want.map((logits) => logits.indexOf(Math.max(...logits))));
    await model.close();
  });

  it("prefills in batches and decodes to the same tokens as in one go", async () => {
    const model = await models.open(path);
    const long = Array.from({ length: 300 }, (_, i) => (i * 37) % 250);
    const whole = await finish(model.createSession(), long, { maxTokens: 5 });
    expect(whole.prefill.map((sweep) => sweep.rows)).toEqual([128, 128, 44]);
    const session = model.createSession();
    for (let length = 100; length < 300; length += 67)
      await finish(session, long.slice(0, length), { maxTokens: 1 });
    const pieces = await finish(session, long, { maxTokens: 5 });
    expect(pieces.reused).toBe(234);
    expect(pieces.ids).toEqual(whole.ids);
    await model.close();
  });

  it("computes only what is new of a conversation, and cuts back where it changed", async () => {
    const model = await models.open(path);
    const session = model.createSession();
    const first = await finish(session, prompt, { maxTokens: 6 });
    const second = await finish(session, [...prompt, ...first.ids, 9, 8], { maxTokens: 3 });
    // The last token of the first answer was never computed.
    expect(second.reused).toBe(prompt.length + 5);
    const changed = [...prompt.slice(0, 4), 77, 78];
    const third = await finish(session, changed, { maxTokens: 6 });
    expect(third.reused).toBe(4);
    expect(third.ids).toEqual((await finish(model.createSession(), changed, { maxTokens: 6 })).ids);
    session.reset();
    expect((await finish(session, changed, { maxTokens: 1 })).reused).toBe(0);
    await model.close();
  });

  it("stops at once when aborted, and goes on afterwards as if nothing had been", async () => {
    const model = await models.open(path);
    const session = model.createSession();
    const want = await finish(model.createSession(), prompt, { maxTokens: 20 });
    for (let tokens = 0; tokens < 8; tokens++) {
      const abort = new AbortController();
      const generation = session.generate(prompt, { sampling: greedy, signal: abort.signal });
      for (let i = 0; i < tokens; i++) await generation.next();
      const pending = generation.next();
      abort.abort();
      const last = await pending;
      const ended = last.done ? last : await generation.next();
      expect(ended).toMatchObject({ done: true, value: { stop: "abort" } });
    }
    expect((await finish(session, prompt, { maxTokens: 20 })).ids).toEqual(want.ids);
    await model.close();
  });

  it("ends with the context, and refuses a prompt that is longer", async () => {
    const model = await models.open(path, { contextLength: 16 });
    const result = await finish(model.createSession(), prompt, {});
    expect(result.stop).toBe("context");
    expect(result.ids).toHaveLength(5);
    await expect(finish(model.createSession(), Array(17).fill(1), {})).rejects.toMatchObject({
      code: "context-full",
      message: expect.stringContaining("17"),
    });
    await model.close();
  });

  it("reports times of every layer", async () => {
    const model = await models.open(path);
    const { prefill, decode } = await finish(model.createSession(), prompt, { maxTokens: 4 });
    expect(prefill).toHaveLength(1);
    expect(decode).toHaveLength(3);
    const bytes = model.manifest.layers.map((file) =>
      file.chunks.reduce((sum, { stored }) => sum + stored, 0),
    );
    for (const sweep of [...prefill, ...decode]) {
      expect(sweep.layers.map((layer) => layer.bytes)).toEqual(bytes);
      expect(sweep.output.bytes).toBeGreaterThan(0);
      const parts = [...sweep.layers, sweep.output].reduce(
        (sum, part) => sum + part.waitMs + part.computeMs,
        0,
      );
      expect(parts).toBeGreaterThan(0);
      expect(parts).toBeLessThan(sweep.ms + 1);
    }
    await model.close();
  });

  it("says which file fails when one is cut under it, and hangs nowhere", async () => {
    const broken = models.make({ seed: 2, layers: 40, feedForward: 2048 });
    const folder = await models.unpack(broken);
    const model = await models.open(broken);
    truncateSync(join(folder, "layer-30.bin"), 4096);
    const session = model.createSession();
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(finish(session, prompt, { maxTokens: 3 })).rejects.toMatchObject({
        code: "bad-cache",
        message: expect.stringContaining("layer-30.bin"),
      });
    await model.close();
  });

  it("shares the engine with other sessions, and turns down a second generation of its own", async () => {
    const model = await models.open(path);
    const want = await finish(model.createSession(), prompt, { maxTokens: 6 });
    const sessions = [model.createSession(), model.createSession(), model.createSession()];
    const results = await Promise.all(sessions.map((session) => finish(session, prompt, { maxTokens: 6 })));
    for (const { ids } of results) expect(ids).toEqual(want.ids);
    const running = finish(sessions[0], [...prompt, 1], { maxTokens: 3 });
    await expect(finish(sessions[0], prompt, { maxTokens: 3 })).rejects.toMatchObject({ code: "bad-input" });
    expect((await running).ids.length).toBeGreaterThan(0);
    await model.close();
  });

  it("ends with what a callback throws, and goes on afterwards", async () => {
    const model = await models.open(models.make({ layers: 60, feedForward: 2048, width: 128 }));
    const session = model.createSession();
    const failing = {
      maxTokens: 500,
      onProgress() {
        throw new Error("from the callback");
      },
    };
    await expect(finish(session, prompt, failing)).rejects.toThrow("from the callback");
    expect((await finish(session, prompt, { maxTokens: 2 })).ids.length).toBeGreaterThan(0);
    await model.close();
  });

  it.each([
    { threads: 0 },
    { threads: 1.5 },
    { threads: Number.NaN },
    { threads: 1000 },
    { contextLength: Number.NaN },
    { contextLength: 0 },
    { ram: Number.NaN },
    { ram: -1 },
    { kvType: "zz" as "f16" },
  ])("refuses to open with %o", async (options) => {
    const folder = await models.unpack(path);
    await expect(Model.open(folder, options)).rejects.toMatchObject({ code: "bad-input" });
  });

  it("refuses ids that are none, a number of tokens that is none, and a reset in between", async () => {
    const model = await models.open(path);
    const session = model.createSession();
    for (const ids of [[1.5], [-1], [1e9], ["1" as unknown as number], []])
      await expect(finish(session, ids, {})).rejects.toMatchObject({ code: "bad-input" });
    await expect(finish(session, prompt, { maxTokens: Number.NaN })).rejects.toMatchObject({
      code: "bad-input",
    });
    const tokens = session.generate(prompt, { sampling: greedy, maxTokens: 3 });
    await tokens.next();
    expect(() => session.reset()).toThrow("generating");
    await tokens.return(undefined as never);
    session.reset();
    expect(session.ids).toEqual([]);
    await model.close();
  });

  it("ends when the model is closed, and not twice", async () => {
    const model = await models.open(path);
    const running = finish(model.createSession(), prompt, {});
    await new Promise((resolve) => setTimeout(resolve, 50));
    await model.close();
    expect((await running).stop).toBe("abort");
    await model.close();
    expect((await finish(model.createSession(), prompt, {})).stop).toBe("abort");
  });

  it("does not keep a process alive that forgot to close it", async () => {
    const folder = await models.unpack(path);
    const script = `
      import { Model } from "./dist/engine/model.js";
      const model = await Model.open(${JSON.stringify(folder)});
      for await (const { id } of model.createSession().generate([1, 2, 3], { maxTokens: 2 })) console.log(id);`;
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      timeout: 20_000,
    });
    expect(run).toMatchObject({ status: 0, stderr: "" });
    expect(run.stdout.trim().split("\n")).toHaveLength(2);
  });
});
