import { expect, it } from "vitest";
import { Conversation } from "../../src/cli/conversation.ts";

it("holds the turns in order, behind the system message", () => {
  const conversation = new Conversation("Be brief.");
  conversation.keep("Hi", "Hello!");
  expect(conversation.ask("Bye")).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello!" },
    { role: "user", content: "Bye" },
  ]);
});

it("leaves out a question without an answer, and an empty system message", () => {
  const conversation = new Conversation("");
  conversation.keep("Stopped before the first token", "");
  expect(conversation.ask("Again")).toEqual([{ role: "user", content: "Again" }]);
  expect(conversation.turns).toBe(0);
});

it("forgets the turns and keeps the system message", () => {
  const conversation = new Conversation("Be brief.");
  conversation.keep("Hi", "Hello!");
  conversation.reset();
  expect(conversation.ask("Hi")).toHaveLength(2);
});
