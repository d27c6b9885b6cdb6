import { expect, it } from "vitest";
import { CHAT_HELP, parseChatInput, readChatInput } from "../../src/cli/chat-commands.ts";

it.each([
  ["", { kind: "nothing" }],
  ["  \t", { kind: "nothing" }],
  ["/help", { kind: "help" }],
  ["/reset ", { kind: "reset" }],
  ["/stats", { kind: "stats" }],
  ["/exit", { kind: "exit" }],
  ["/system You are a pirate.", { kind: "system", text: "You are a pirate." }],
  ["/system two\nlines", { kind: "system", text: "two\nlines" }],
  ["/system", { kind: "system", text: "" }],
  ["/frobnicate now", { kind: "unknown", name: "/frobnicate" }],
  ["Hello /help", { kind: "message", text: "Hello /help" }],
  [" /help", { kind: "message", text: " /help" }],
  ["/usr/bin is what?", { kind: "message", text: "/usr/bin is what?" }],
  ["/no_think Why?", { kind: "message", text: "/no_think Why?" }],
])("%j", (line, input) => {
  expect(parseChatInput(line)).toEqual(input);
});

it("names every command in the help", () => {
  for (const name of ["/system", "/reset", "/stats", "/exit", "/help"]) expect(CHAT_HELP).toContain(name);
});

async function read(...lines: string[]) {
  const prompts: string[] = [];
  const input = await readChatInput(async (prompt) => {
    prompts.push(prompt);
    return lines.shift();
  });
  return { input, prompts: prompts.join("") };
}

it.each([
  [['"""', "one", "", "two", '"""'], "one\n\ntwo"],
  [['"""one', 'two"""'], "one\ntwo"],
  [['"""one"""'], "one"],
  [['"""/help', '""" '], "/help"],
  [['"""cut off', "by the end"], "cut off\nby the end"],
])("reads a message of several lines: %j", async (lines, text) => {
  expect((await read(...lines)).input).toEqual({ kind: "message", text });
});

it("prompts differently for further lines, and ends with the input", async () => {
  expect((await read('"""', "a", '"""')).prompts).toBe("> . . ");
  expect(await read()).toEqual({ input: undefined, prompts: "> " });
  expect((await read('"""', " ", '"""')).input).toEqual({ kind: "nothing" });
});
