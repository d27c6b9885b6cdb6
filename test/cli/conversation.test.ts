import { expect, it } from "vitest";
import { Conversation } from "../../src/cli/conversation.ts";

function conversation(...questions: string[]) {
  const made = new Conversation("Be brief.");
  for (const question of questions) made.keep(question, `${question}!`);
  return made;
}

const read = (made: Conversation) => made.ask("now").map(({ content }) => content);

it("holds the turns in order, behind the system message", () => {
  expect(conversation("Hi").ask("Bye")).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hi!" },
    { role: "user", content: "Bye" },
  ]);
});

it("leaves out a question without an answer, and an empty system message", () => {
  const made = new Conversation("");
  made.keep("Stopped before the first token", "");
  expect(made.ask("Again")).toEqual([{ role: "user", content: "Again" }]);
  expect(made.turns).toEqual([]);
});

it("forgets the turns and keeps the system message", () => {
  const made = conversation("a");
  made.reset();
  expect(read(made)).toEqual(["Be brief.", "now"]);
  made.reset([{ question: "x", answer: "y" }]);
  expect(read(made)).toEqual(["Be brief.", "x", "y", "now"]);
});

it("takes back the last turn", () => {
  const made = conversation("a", "b");
  expect(made.undo()).toEqual({ question: "b", answer: "b!" });
  expect(read(made)).toEqual(["Be brief.", "a", "a!", "now"]);
  made.undo();
  expect(made.undo()).toBeUndefined();
});

it("keeps dropped turns out of what the model reads, and does not take them back", () => {
  const made = conversation("a", "b", "c");
  made.forget(1);
  made.forget(1);
  expect(read(made)).toEqual(["Be brief.", "c", "c!", "now"]);
  expect([made.turns.length, made.forgotten]).toEqual([3, 2]);
  expect(made.undo()?.question).toBe("c");
  expect([made.last, made.undo()]).toEqual([undefined, undefined]);
  expect([made.turns.length, made.forgotten]).toEqual([2, 2]);
});
