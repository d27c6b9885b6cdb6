import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Drafter, type Pacing } from "../../../src/engine/draft/drafter.ts";
import { Lookup } from "../../../src/engine/draft/lookup.ts";
import { ModelDraft } from "../../../src/engine/draft/model-draft.ts";
import type { Draft } from "../../../src/engine/draft/types.ts";
import { Engine } from "../../../src/engine/engine.ts";
import { Session } from "../../../src/engine/session.ts";
import type { GeneratedToken, GenerateOptions, GenerateResult } from "../../../src/engine/types.ts";
import { openCache } from "../../../src/store/cache.ts";
import { createTokenizer } from "../../../src/text/tokenizer.ts";
import { decodeTokenizerData } from "../../../src/text/tokenizer-data.ts";
import { modelFolder } from "../model-fixture.ts";

const shared = join(import.meta.dirname, "../../../../shared/models");
const greedy = { temperature: 0 };

/** So many tokens each time, come what may. */
function always(count: number): Pacing {
  return { choose: (_, most) => Math.min(count, most), learn() {} };
}

/** A draft that says what it is told to. */
function saying(guess: (tokens: readonly number[]) => readonly number[]): Draft {
  let text: readonly number[] = [];
  return {
    name: "told",
    look(tokens) {
      text = tokens;
      return "";
    },
    propose: () => guess(text),
  };
}

/** The whole of an answer: its tokens with all that is said of them, and its end. */
async function answer(session: Session, prompt: readonly number[], options: GenerateOptions) {
  const tokens: GeneratedToken[] = [];
  const generating = session.generate(prompt, options);
  for (;;) {
    const next = await generating.next();
    if (!next.done) tokens.push(next.value);
    else {
      const { prefill: _, decode, drafts, ...end } = next.value as GenerateResult;
      return { tokens, end, decode, drafts };
    }
  }
}

describe("speculation", () => {
  const models = modelFolder();
  afterAll(() => models.remove());
  const prompt = [5, 100, 7, 250, 31, 5, 100, 7, 5, 199, 64, 1, 2, 3];

  async function open(path: string, dtype: "f32" | "q8" | "f16" | "native", context = 200) {
    const cache = openCache(await models.unpack(path, { dtype }));
    const engine = new Engine(cache, { threads: 2, contextLength: context });
    const { model, tokenizer } = cache.manifest;
    const text = createTokenizer(decodeTokenizerData(readFileSync(join(cache.folder, tokenizer.name))));
    return {
      engine,
      vocabulary: model.vocabulary,
      session: (drafts: readonly Draft[], count = 4) =>
        new Session(engine, text, model, context, new Drafter(drafts, model.vocabulary, always(count))),
    };
  }

  it.each(["f32", "f16", "q8", "native"] as const)("gives what plain decoding gives: %s", async (dtype) => {
    const path = models.make({
      context: 200,
      ...(dtype === "native" && { type: "q4_K", width: 256, feedForward: 256 }),
    });
    const { engine, session, vocabulary } = await open(path, dtype);
    const small = await open(models.make({ context: 200, layers: 1 }), "q8");
    for (const sampling of [greedy, { temperature: 1.5, seed: 7, repeatPenalty: 1.2 }]) {
      const options = { sampling, maxTokens: 40, logprobs: 3, explain: 4 };
      const plain = await answer(session([]), prompt, options);
      expect(plain.decode).toHaveLength(39);
      const ids = plain.end.ids;
      const right = (tokens: readonly number[]) => [...ids.slice(tokens.length - prompt.length), ...ids];
      const drafts: (() => Draft)[] = [
        () => new Lookup(),
        () => new ModelDraft(small.engine, vocabulary, 200),
        () => saying(right),
        () => saying(() => Array.from({ length: 16 }, () => 3)),
        () => saying((tokens) => right(tokens).map((id, index) => (index % 3 === 2 ? 0 : id))),
        () => saying(() => [vocabulary, -1, 0.5]),
      ];
      for (const [index, draft] of drafts.entries()) {
        const count = [4, 1, 16, 7, 2][(index + (sampling === greedy ? 0 : 2)) % 5];
        const guessed = await answer(session([draft()], count), prompt, options);
        expect(guessed.tokens).toEqual(plain.tokens);
        expect(guessed.end).toEqual(plain.end);
        expect(guessed.decode.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(39);
      }
      // The token after the last guess is given as well.
      const all = await answer(session([saying(right)], 12), prompt, options);
      expect(all.decode.map(({ tokens }) => tokens)).toEqual([13, 13, 13]);
      expect(all.drafts).toMatchObject([{ draft: "told", proposed: 36, accepted: 36 }]);
    }
    await engine.close();
    await small.engine.close();
  });

  it("ends where plain decoding ends: texts to stop at, the end of the context, leaving", async () => {
    const path = models.make({ context: 40 });
    const { engine, session } = await open(path, "q8", 40);
    const plain = await answer(session([]), prompt, { sampling: greedy });
    expect(plain.end.stop).toBe("context");
    const right = saying((tokens) => plain.end.ids.slice(tokens.length - prompt.length));
    for (const count of [1, 5, 16]) {
      const guessed = await answer(session([right], count), prompt, { sampling: greedy });
      expect(guessed.end).toEqual(plain.end);
      expect(guessed.decode.length).toBeLessThan(plain.decode.length);
    }
    const stop = [plain.end.text.slice(6, 8)];
    const stopped = await answer(session([]), prompt, { sampling: greedy, stop });
    expect(stopped.end.stop).toBe("stop");
    expect((await answer(session([right]), prompt, { sampling: greedy, stop })).end).toEqual(stopped.end);
    expect((await answer(session([right]), prompt, { sampling: greedy, maxTokens: 7 })).end.ids).toHaveLength(
      7,
    );

    const leaving = session([right], 8);
    for await (const { id } of leaving.generate(prompt, { sampling: greedy }))
      if (id === plain.end.ids[3]) break;
    // What was left in the KV cache of the guess is no part of the conversation.
    expect(leaving.ids).toEqual([...prompt, ...plain.end.ids].slice(0, leaving.ids.length));
    const other = [...prompt, 9, 9, 9];
    expect((await answer(leaving, other, { sampling: greedy, maxTokens: 9 })).end.ids).toEqual(
      (await answer(session([]), other, { sampling: greedy, maxTokens: 9 })).end.ids,
    );
    await engine.close();
  });

  it.runIf(existsSync(shared))("gives what plain decoding gives, for a trained model", async () => {
    const { prompts } = JSON.parse(readFileSync(join(shared, "tiny-chat-expected.json"), "utf8")) as {
      prompts: { token_ids: number[]; results: { f32: { greedy_ids: number[] } } }[];
    };
    const { engine, session } = await open(join(shared, "tiny-chat-f16.gguf"), "f32", 600);
    const small = await open(join(shared, "tiny-chat-q4_0.gguf"), "native", 600);
    let accepted = 0;
    for (const [index, { token_ids, results }] of prompts.entries()) {
      const options = { sampling: greedy, maxTokens: 24 };
      const plain = await answer(session([]), token_ids, options);
      const drafts = [new Lookup(), new ModelDraft(small.engine, small.vocabulary, 600)];
      const guessed = await answer(session([drafts[index % 2]], 1 + (index % 16)), token_ids, options);
      expect(guessed.end).toEqual(plain.end);
      expect(results.f32.greedy_ids.slice(0, plain.end.ids.length)).toEqual(plain.end.ids);
      accepted += guessed.drafts.reduce((sum, counts) => sum + counts.accepted, 0);
    }
    expect(accepted).toBeGreaterThan(prompts.length * 2);
    await engine.close();
    await small.engine.close();
  });
});
