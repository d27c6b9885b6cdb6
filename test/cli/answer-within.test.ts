import { afterAll, beforeAll, expect, it } from "vitest";
import { answerWithin } from "../../src/cli/answer-within.ts";
import { preparePrompt } from "../../src/cli/prepare-prompt.ts";
import type { Model } from "../../src/engine/model.ts";
import type { ChatMessage } from "../../src/text/types.ts";
import { modelFolder } from "../engine/model-fixture.ts";
import { MODEL } from "./spawn.ts";

const models = modelFolder();
let model: Model;
beforeAll(async () => {
  model = await models.open(MODEL, { contextLength: 96, threads: 1 });
}, 60_000);
afterAll(async () => {
  await model.close();
  models.remove();
});

const say = (role: string, content: string): ChatMessage => ({ role, content });
const system = say("system", "You are a pirate.");
const prepare = (messages: readonly ChatMessage[]) => preparePrompt(model, messages, {});

async function ask(
  session: ReturnType<Model["createSession"]>,
  messages: readonly ChatMessage[],
  maxTokens = 12,
) {
  const drops: { dropped: readonly ChatMessage[]; computed: number }[] = [];
  const texts: string[] = [];
  const result = await answerWithin(model, session, messages, {
    overflow: "slide",
    prepare,
    sampling: { temperature: 0 },
    maxTokens,
    onToken: ({ text }) => texts.push(text),
    onDrop: (dropped, computed) => drops.push({ dropped, computed }),
  });
  expect(texts.join("")).toBe(result.text);
  return { result, drops };
}

it("slides: what is left is answered as if there had been no more, and the system message is not read again", async () => {
  const session = model.createSession();
  const messages = [system];
  const questions = [
    "Hello!",
    "What colour is grass?",
    "My name is Ada.",
    "Is 7 plus 5 12?",
    "Tell me a fact.",
  ];
  for (let turn = 0; ; turn++) {
    messages.push(say("user", questions[turn % questions.length]));
    const { result, drops } = await ask(session, messages);
    const [drop] = drops;
    if (drop) {
      expect(drops).toHaveLength(1);
      expect(drop.dropped[0]).toBe(messages[1]);
      expect(drop.dropped.length % 2).toBe(0);
      const shorter = [system, ...messages.slice(1 + drop.dropped.length)];
      const { ids } = prepare(shorter);
      expect(ids.length).toBeLessThanOrEqual(48);
      // What stands before the first turn, and as much of that as the two have in common by chance.
      const begin = model.encodeChat([messages[0]], { addGenerationPrompt: false });
      expect(result.reused).toBeGreaterThanOrEqual(begin.length);
      expect(result.reused).toBeLessThanOrEqual(begin.length + 4);
      expect(drop.computed).toBe(ids.length - result.reused);
      const fresh = await ask(model.createSession(), shorter);
      expect(fresh.drops).toEqual([]);
      expect(result.ids).toEqual(fresh.result.ids);
      return;
    }
    messages.push(say("assistant", result.text));
    expect(turn).toBeLessThan(8);
  }
});

it("slides in the midst of an answer, and goes on where it was", async () => {
  const older = [
    say("user", "What is the capital of Japan?"),
    say("assistant", "The capital of Japan is Tokyo."),
  ];
  const messages = [system, ...older, say("user", "Tell me a short story about a cat.")];
  const { result, drops } = await ask(model.createSession(), messages, 80);
  expect(drops).toHaveLength(1);
  expect(drops[0].dropped).toEqual(older);
  const prompt = prepare([system, messages[3]]).ids.length;
  // All that was said is read again behind the shorter conversation.
  expect(drops[0].computed).toBeGreaterThan(result.ids.length / 2);
  expect(result.prefill.length).toBeGreaterThan(1);
  expect(result.ids.length + prompt).toBeGreaterThan(96 - older.length * 8);
  expect(["eog", "length", "context"]).toContain(result.stop);
});

it("stops where there is no turn to drop", async () => {
  const { result, drops } = await ask(model.createSession(), [say("user", `Hi ${"a ".repeat(60)}`)], 200);
  expect(result.stop === "context" || result.stop === "eog").toBe(true);
  expect(drops).toEqual([]);
});
