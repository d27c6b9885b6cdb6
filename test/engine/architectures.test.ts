/** Every architecture against the reference transformer, and against llama.cpp: see test/oracle/record.mjs. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openGguf } from "../../src/gguf/open.ts";
import { referenceLogits } from "../reference/transformer.ts";
import { CASES, IDS, POSITIONS, TOKENS } from "./architecture-cases.mjs";
import { allLogits, fileLogits, modelFolder, nmse } from "./model-fixture.ts";

const vectors = resolve(import.meta.dirname, "../../../shared/vectors/models");
const recorded: Record<string, { logprobs: number[][]; greedy: number[] }> = JSON.parse(
  readFileSync(join(import.meta.dirname, "llama-logprobs.json"), "utf8"),
);
const models = modelFolder();
afterAll(() => models.remove());

/** GELU goes through float16, and a sum that comes out a little different may fall on the other side of a step. */
const STEPS = /^(gemma|starcoder2)/;

describe.each(Object.keys(CASES))("a synthetic model of %s", (name) => {
  const { contextLength = 256, ...changes } = CASES[name];
  const tolerance = STEPS.test(name) ? 1e-7 : 1e-11;

  it("gives the logits of the reference, and of llama.cpp", async () => {
    const path = models.make({ ...changes, type: "f32" });
    const model = await models.open(path, { dtype: "f32", contextLength });
    const got = await allLogits(model, IDS);
    const gguf = openGguf(path);
    const exact = referenceLogits(gguf, IDS, contextLength);
    gguf.close();
    expect(nmse(got, exact)).toBeLessThan(tolerance);
    const { logprobs, greedy } = recorded[name];
    const ours = POSITIONS.map((position) => logSoftmax(got[position]));
    const theirs = logprobs.map((row) => Float64Array.from(row));
    // Random GELU models are the ones in which llama.cpp's own steps are seen.
    expect(nmse(ours.map(centered), theirs.map(centered))).toBeLessThan(STEPS.test(name) ? 1e-7 : 1e-8);
    expect(await answer(model, IDS, greedy.length)).toEqual(greedy);
    await model.close();
  });

  it("gives them in q8, and answers alike whether its prompt is read at once or in pieces", async () => {
    const path = models.make(changes);
    const model = await models.open(path, { dtype: "q8", contextLength });
    const ids = IDS.slice(0, 24);
    const gguf = openGguf(path);
    const exact = referenceLogits(gguf, ids, contextLength);
    gguf.close();
    expect(nmse(await allLogits(model, ids), exact)).toBeLessThan(STEPS.test(name) ? 1e-5 : 1e-6);
    const session = model.createSession();
    const once = await answer(model, ids, 8);
    for (let length = 1; length < ids.length; length += 5)
      for await (const _ of session.generate(ids.slice(0, length), { maxTokens: 1 })) break;
    const pieces: number[] = [];
    for await (const { id } of session.generate(ids, { sampling: { temperature: 0 }, maxTokens: 8 }))
      pieces.push(id);
    expect(pieces).toEqual(once);
    await model.close();
  });
});

async function answer(
  model: Awaited<ReturnType<typeof models.open>>,
  prompt: readonly number[],
  maxTokens: number,
): Promise<number[]> {
  const found: number[] = [];
  const session = model.createSession();
  // The text goes on where the model ends it.
  while (found.length < maxTokens) {
    const rest = { sampling: { temperature: 0 }, maxTokens: maxTokens - found.length };
    for await (const { id } of session.generate([...prompt, ...found], rest)) found.push(id);
  }
  return found;
}

/** Of TOKENS. */
function logSoftmax(logits: Float32Array): number[] {
  const largest = logits.reduce((a, b) => Math.max(a, b));
  const total = largest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0));
  return TOKENS.map((id) => logits[id] - total);
}

/** Around their mean, so that what all have in common counts for nothing. */
function centered(values: ArrayLike<number>): number[] {
  const all = Array.from(values);
  const mean = all.reduce((a, b) => a + b) / all.length;
  return all.map((value) => value - mean);
}

describe.runIf(existsSync(vectors))("llama.cpp's test model", () => {
  const cases: { model: string; tokens: number[]; n_vocab: number; greedy: number[]; logits?: string }[] =
    existsSync(vectors)
      ? readFileSync(join(vectors, "logits/manifest.jsonl"), "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
      : [];

  it.each(["qwen2", "qwen3", "mistral3", "gemma"])("of %s", async (arch) => {
    const path = join(vectors, `archs/${arch}-dense.gguf`);
    const { tokens, greedy, n_vocab } = cases.find(({ model }) => model === `archs/${arch}-dense.gguf`)!;
    const bytes = readFileSync(join(vectors, `logits/${arch}-dense.f32.bin`));
    const values = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    const llama = tokens.map((_, row) => values.subarray(row * n_vocab, (row + 1) * n_vocab));
    const model = await models.open(path);
    const got = await allLogits(model, tokens);
    expect(nmse(got, fileLogits(path, tokens))).toBeLessThan(1e-11);
    expect(nmse(got, llama)).toBeLessThan(1e-8);
    const ids: number[] = [];
    const session = model.createSession();
    while (ids.length < greedy.length) {
      const rest = { sampling: { temperature: 0 }, maxTokens: greedy.length - ids.length };
      for await (const { id } of session.generate([...tokens, ...ids], rest)) ids.push(id);
    }
    expect(ids).toEqual(greedy);
    await model.close();
  });
});
