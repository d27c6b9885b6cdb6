import { describe, expect, it } from "vitest";
import { droppedText, fitAnswer, fitContext, turnsOf } from "../../src/cli/overflow.ts";
import type { ChatMessage } from "../../src/text/types.ts";

/** A token for each character. */
const prepare = (messages: readonly ChatMessage[]) => {
  const text = messages.map(({ content }) => content).join("");
  return { text, ids: Array.from(text, (_, index) => index) };
};
const say = (role: string, content: string): ChatMessage => ({ role, content });

const system = say("system", "S".repeat(5));
const turns = ["a", "b", "c"].flatMap((name) => [
  say("user", name.repeat(10)),
  say("assistant", name.repeat(20)),
]);
const last = say("user", "d".repeat(10));
const all = [system, ...turns, last];

describe("fitContext", () => {
  it("drops nothing where there is room for an answer", () => {
    expect(fitContext(all, prepare, { context: 120 })).toMatchObject({ messages: all, dropped: [] });
    // An eighth of the context, unless the answer is shorter.
    expect(fitContext(all, prepare, { context: 115 }).dropped).not.toEqual([]);
    expect(fitContext(all, prepare, { context: 115, answer: 5 }).dropped).toEqual([]);
  });

  it("drops the oldest whole turns until half of the context is free, and keeps the system message", () => {
    const { messages, prompt, dropped } = fitContext(all, prepare, { context: 100 });
    expect(messages).toEqual([system, ...turns.slice(4), last]);
    expect(dropped).toEqual(turns.slice(0, 4));
    expect(prompt.text).toBe(prepare(messages).text);
    expect(turnsOf(dropped)).toBe(2);
  });

  it("keeps the last question, whatever it takes", () => {
    const { messages } = fitContext(all, prepare, { context: 12 });
    expect(messages).toEqual([system, last]);
    expect(fitContext([last], prepare, { context: 5 })).toMatchObject({ messages: [last], dropped: [] });
  });

  it("takes messages of tools, and answers without a question, as parts of the turn before them", () => {
    const tools = [say("user", "a".repeat(30)), say("tool", "t".repeat(30)), say("assistant", "x"), last];
    expect(fitContext(tools, prepare, { context: 60 }).messages).toEqual([last]);
    const greeting = [system, say("assistant", "g".repeat(30)), last, say("assistant", "x"), last];
    expect(fitContext(greeting, prepare, { context: 60 }).dropped).toEqual([greeting[1]]);
  });
});

it("makes room in the midst of an answer, whose length counts", () => {
  const { messages } = fitAnswer(all, prepare, { context: 150, answered: 20 });
  expect(messages).toEqual([system, ...turns.slice(4), last]);
});

it("says what was dropped, from where on, and what it costs", () => {
  const dropped = [say("user", `${"long ".repeat(20)}\nsecond line`), say("assistant", "x")];
  expect(droppedText(dropped, { context: 64, computed: 20 })).toBe(
    '(the context of 64 tokens is full: the oldest turn is dropped, from "long long long long long long long long…" on; 20 tokens are read again)',
  );
  expect(droppedText([...dropped, ...dropped], { context: 64, computed: 20 })).toContain(
    "the oldest 2 turns are dropped",
  );
});
