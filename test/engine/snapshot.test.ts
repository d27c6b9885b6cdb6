import { afterAll, describe, expect, it } from "vitest";
import type { Model } from "../../src/engine/model.ts";
import type { Session, SessionSnapshot } from "../../src/engine/session.ts";
import type { GenerateOptions, GenerateResult } from "../../src/engine/types.ts";
import { modelFolder } from "./model-fixture.ts";

const prompt = Array.from({ length: 150 }, (_, i) => (i * 37) % 250);

async function finish(
  session: Session,
  ids: readonly number[],
  options: GenerateOptions,
): Promise<GenerateResult> {
  const tokens = session.generate(ids, { sampling: { temperature: 0 }, ...options });
  for (;;) {
    const next = await tokens.next();
    if (next.done) return next.value;
  }
}

/** A snapshot that outlives its session. */
function copied({ ids, blocks }: SessionSnapshot) {
  return { ids, bytes: blocks.map(({ bytes }) => Uint8Array.from(bytes)) };
}

const stamps = (session: Session) => session.snapshot().blocks.map(({ stamp }) => stamp);

describe("the state of a session", () => {
  const models = modelFolder();
  afterAll(() => models.remove());
  const path = models.make({ context: 400 });

  it.each(["f32", "f16", "q8"] as const)("goes on where it was, without prefill (%s)", async (kvType) => {
    const first = await models.open(path, { kvType });
    const session = first.createSession();
    const { ids } = await finish(session, prompt, { maxTokens: 20 });
    const saved = copied(session.snapshot());
    const question = [...prompt, ...ids, 3, 1, 4];
    const want = await finish(session, question, { maxTokens: 30, logprobs: 3 });
    await first.close();

    const second = await models.open(path, { kvType });
    const restored = second.createSession();
    await restored.restore(saved.ids, (target, index) => target.set(saved.bytes[index]));
    expect(copied(restored.snapshot())).toEqual(saved);
    const got = await finish(restored, question, { maxTokens: 30, logprobs: 3 });
    expect(got.ids).toEqual(want.ids);
    expect(got.reused).toBe(prompt.length + 19);
    expect(got.prefill.map(({ rows }) => rows)).toEqual([4]);
    await second.close();
  });

  it("keeps the stamps of full blocks until they are cut", async () => {
    const model = await models.open(path);
    const session = model.createSession();
    await finish(session, prompt, { maxTokens: 1 });
    const before = stamps(session);
    expect(before).toHaveLength(3);
    await finish(session, [...prompt, ...prompt], { maxTokens: 1 });
    const longer = stamps(session);
    expect(longer).toHaveLength(5);
    expect(longer.slice(0, 2)).toEqual(before.slice(0, 2));
    await finish(session, [...prompt.slice(0, 100), 7, 7], { maxTokens: 1 });
    const cut = stamps(session);
    expect(cut).toHaveLength(2);
    expect(cut[0]).toBe(before[0]);
    expect(longer).not.toContain(cut[1]);
    await model.close();
  });

  it("holds nothing of conversations before", async () => {
    const model = await models.open(path);
    const session = model.createSession();
    await finish(session, prompt, { maxTokens: 1 });
    session.reset();
    await finish(session, [5], { maxTokens: 1 });
    const used = copied(session.snapshot());
    const fresh = await models.open(path);
    const clean = fresh.createSession();
    await finish(clean, [5], { maxTokens: 1 });
    expect(used).toEqual(copied(clean.snapshot()));
    await model.close();
    await fresh.close();
  });

  it("is empty after a restore that failed, and usable", async () => {
    const model = await models.open(path);
    const session = model.createSession();
    const want = await finish(model.createSession(), prompt, { maxTokens: 3 });
    await finish(session, [5, 6, 7], { maxTokens: 1 });
    const failing = session.restore(prompt, () => Promise.reject(new Error("unreadable")));
    expect(() => session.snapshot()).toThrow(expect.objectContaining({ code: "bad-input" }));
    await expect(failing).rejects.toThrow("unreadable");
    expect(session.ids).toEqual([]);
    expect(await finish(session, prompt, { maxTokens: 3 })).toMatchObject({ ids: want.ids, reused: 0 });
    await refusesTooMany(model);
    await model.close();
  });
});

async function refusesTooMany(model: Model): Promise<void> {
  const ids = Array.from({ length: model.contextLength + 1 }, () => 1);
  await expect(model.createSession().restore(ids, () => {})).rejects.toMatchObject({ code: "context-full" });
}
