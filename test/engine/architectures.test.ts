/** Every architecture against the reference transformer, and against llama.cpp where the public vectors are at hand. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { allLogits, fileLogits, modelFolder, nmse } from "./model-fixture.ts";

const vectors = resolve(import.meta.dirname, "../../../shared/vectors/models");
const models = modelFolder();
afterAll(() => models.remove());

describe("a synthetic model", () => {
  const ids = [1, 7, 200, 3, 90, 90, 15, 44, 101, 2];

  it.each(["llama", "smollm3", "qwen2", "qwen3", "mistral3", "internlm2"])(
    "of %s gives the logits of the reference",
    async (arch) => {
      const path = models.make({ arch });
      const exact = fileLogits(path, ids);
      for (const [dtype, tolerance] of [
        ["f32", 1e-11],
        ["q8", 1e-6],
      ] as const) {
        const model = await models.open(path, { dtype });
        expect(nmse(await allLogits(model, ids), exact)).toBeLessThan(tolerance);
        await model.close();
      }
    },
  );

  it.each(["qwen2", "qwen3"])(
    "of %s answers alike whether its prompt is read at once or in pieces",
    async (arch) => {
      const model = await models.open(models.make({ arch }), { dtype: "q8" });
      const session = model.createSession();
      const answer = async (prompt: readonly number[]) => {
        const found: number[] = [];
        for await (const { id } of session.generate(prompt, { sampling: { temperature: 0 }, maxTokens: 8 }))
          found.push(id);
        return found;
      };
      const whole = await answer(ids);
      session.reset();
      for (let length = 1; length < ids.length; length += 3) await answer(ids.slice(0, length));
      expect(await answer(ids)).toEqual(whole);
      await model.close();
    },
  );
});

describe.runIf(existsSync(vectors))("llama.cpp's test model", () => {
  const cases: { model: string; tokens: number[]; n_vocab: number; greedy: number[]; logits?: string }[] =
    existsSync(vectors)
      ? readFileSync(join(vectors, "logits/manifest.jsonl"), "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
      : [];

  it.each(["qwen2", "qwen3", "mistral3"])("of %s", async (arch) => {
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
