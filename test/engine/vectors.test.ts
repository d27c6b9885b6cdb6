/** Against llama.cpp's logits and tokens, where the public vectors are at hand. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Model } from "../../src/engine/model.ts";
import type { Dtype } from "../../src/store/types.ts";
import { reencodedTypes } from "../../src/unpack/tensor-dtype.ts";
import { allLogits, fileLogits, modelFolder, nmse } from "./model-fixture.ts";

const shared = resolve(import.meta.dirname, "../../../shared");
const vectors = join(shared, "vectors/models");

const lines = (file: string) =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

function floatRows(file: string, columns: number): Float32Array[] {
  const bytes = readFileSync(file);
  const values = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  return Array.from({ length: values.length / columns }, (_, row) =>
    values.subarray(row * columns, (row + 1) * columns),
  );
}

async function greedy(model: Model, prompt: readonly number[], count: number): Promise<number[]> {
  const ids: number[] = [];
  const session = model.createSession();
  while (ids.length < count) {
    // An end token ends an answer, but the vectors go on after it.
    for await (const { id } of session.generate([...prompt, ...ids], {
      sampling: { temperature: 0 },
      maxTokens: count - ids.length,
    }))
      ids.push(id);
  }
  return ids;
}

describe.runIf(existsSync(vectors))("stories260K", () => {
  const models = modelFolder();
  afterAll(() => models.remove());
  const cases = existsSync(vectors) ? lines(join(vectors, "stories260K/expected.jsonl")) : [];

  it.each(cases)("$model", async (entry) => {
    const path = join(vectors, "stories260K", entry.model);
    const model = await models.open(path);
    const got = await allLogits(model, entry.tokens);
    expect(nmse(got, fileLogits(path, entry.tokens))).toBeLessThan(2e-11);
    const llama = floatRows(path.replace(".gguf", ".logits.f32.bin"), entry.n_vocab);
    // llama.cpp rounds activations to 8 bits for quantized weights.
    expect(nmse(got, llama)).toBeLessThan(/f32|F16/.test(entry.model) ? 1e-5 : 5e-3);
    if (/f32/.test(entry.model)) expect(await greedy(model, entry.tokens, 200)).toEqual(entry.greedy);
    await model.close();
  });

  it.each(["F16", "Q8_0", "Q4_0"])(
    "%s as native is nearer to the exact logits than llama.cpp",
    async (type) => {
      const { model, tokens, n_vocab } = cases.find((entry) => entry.model.endsWith(`-${type}.gguf`))!;
      const path = join(vectors, "stories260K", model);
      const exact = fileLogits(path, tokens);
      const llama = floatRows(path.replace(".gguf", ".logits.f32.bin"), n_vocab);
      for (const dtype of type === "F16" ? (["native", "f16"] as const) : (["native"] as const)) {
        const opened = await models.open(path, { dtype });
        expect(nmse(await allLogits(opened, tokens), exact)).toBeLessThan(nmse(llama, exact));
        await opened.close();
      }
    },
  );
});

describe.runIf(existsSync(vectors))("the 8-layer smollm3 in many types", () => {
  const models = modelFolder();
  afterAll(() => models.remove());
  const tolerances: { model: string; nmse_f32activations_vs_llamacpp: number }[] = existsSync(vectors)
    ? JSON.parse(readFileSync(join(vectors, "logits/quant_tolerance.json"), "utf8"))
    : [];
  const tokens = existsSync(vectors)
    ? lines(join(vectors, "logits/manifest.jsonl")).find(
        ({ model }) => model === "archs-gqa8/smollm3-dense.gguf",
      )?.tokens
    : [];

  const folder = join(vectors, "quants");
  const types = existsSync(folder)
    ? readdirSync(folder).flatMap((name) => /^smollm3-(.*)\.gguf$/.exec(name)?.[1] ?? [])
    : [];

  it.each(types)("%s", async (type) => {
    const path = join(vectors, `quants/smollm3-${type}.gguf`);
    const tolerance = tolerances.find(({ model }) => model === `quants/smollm3-${type}.gguf`);
    const exact = fileLogits(path, tokens);
    const llama = floatRows(join(vectors, `logits/quant-smollm3-${type}.f32.bin`), exact[0].length);
    const dtypes: Dtype[] = ["f32"];
    if (type === "Q4_0" || type === "Q8_0") dtypes.push("native");
    if (type === "Q8_0") dtypes.push("q8");
    for (const dtype of dtypes) {
      const model = await models.open(path, { dtype });
      const got = await allLogits(model, tokens);
      await model.close();
      const error = nmse(got, exact);
      expect(error).toBeLessThan(nmse(llama, exact));
      // The embedding of the Q4_0 file is Q6_K, which native rounds to q8.
      if (reencodedTypes(model.manifest).size > 0) continue;
      expect(error).toBeLessThan(dtype === "f32" ? 1e-11 : 1e-6);
      expect(nmse(got, llama)).toBeLessThan(
        // There is none for Q1_0 and Q2_0.
        tolerance ? 1.05 * tolerance.nmse_f32activations_vs_llamacpp : 5e-3,
      );
    }
  });
});

describe.runIf(existsSync(shared))("tiny-chat", () => {
  const models = modelFolder();
  afterAll(() => models.remove());
  const expected = existsSync(shared)
    ? JSON.parse(readFileSync(join(shared, "models/tiny-chat-expected.json"), "utf8"))
    : { prompts: [] };

  it.each([
    ["f32", "f32", "f32_kv32", 2e-5],
    ["f16", "f32", "f16", 1e-3],
    ["f16", "f16", "f16", 1e-3],
    ["q8_0", "f32", "q8_0", 1.5e-2],
    ["q8_0", "q8", "q8_0", 1.5e-2],
    ["q4_0", "f32", "q4_0", 2.5e-2],
    ["q4_0", "native", "q4_0", 2.5e-2],
  ] as const)("%s as %s: answers as %s, probabilities within %f", async (type, dtype, key, tolerance) => {
    const path = join(shared, `models/tiny-chat-${type}.gguf`);
    const model = await models.open(path, { dtype });
    // Of the exact mode, and of float16 keys and values and activations of 16 bits.
    const error = dtype === "f32" ? 1e-5 : 1e-3;
    let compared = 0;
    for (const { token_ids, results } of expected.prompts) {
      const want = results[key];
      if (want === undefined) continue;
      const session = model.createSession();
      const answer: number[] = [];
      for await (const { id } of session.generate(token_ids, { sampling: { temperature: 0 } }))
        answer.push(id);
      // llama.cpp rounds the activations of quantized types: where two tokens are about as likely it may take the other.
      const close = want.greedy_margin.findIndex((margin: number) => margin < 0.1);
      const sure = type === "q4_0" && close >= 0 ? close : want.answer_ids.length;
      expect(answer.slice(0, sure)).toEqual(want.answer_ids.slice(0, sure));
      if (want.top10_first_8_steps === undefined) continue;
      const steps = want.greedy_ids.slice(0, want.top10_first_8_steps.length);
      const all = await allLogits(model, [...token_ids, ...steps]);
      const reference = exactLogits(path, [...token_ids, ...steps]);
      for (const [step, top] of want.top10_first_8_steps.entries()) {
        const position = token_ids.length - 1 + step;
        const [ours, exact] = [softmax(all[position]), softmax(reference[position])];
        for (const [id, probability] of top) {
          expect(Math.abs(ours[id] - probability)).toBeLessThan(tolerance);
          expect(Math.abs(ours[id] - exact[id])).toBeLessThan(error);
          compared++;
        }
      }
    }
    expect(compared).toBe(6 * 80);
    await model.close();
  });
});

/** The reference takes its time, and is the same for every dtype. */
const references = new Map<string, Float64Array[]>();

function exactLogits(path: string, ids: readonly number[]): Float64Array[] {
  const key = `${path} ${ids}`;
  const known = references.get(key) ?? fileLogits(path, ids);
  references.set(key, known);
  return known;
}

function softmax(logits: ArrayLike<number>): Float64Array {
  const values = Float64Array.from(logits);
  const highest = values.reduce((a, b) => Math.max(a, b));
  const weights = values.map((value) => Math.exp(value - highest));
  const total = weights.reduce((a, b) => a + b);
  return weights.map((weight) => weight / total);
}
