import { expect, it } from "vitest";
import { parseChatInput, readChatInput } from "../../src/cli/chat-input.ts";

const command = (name: string, argument = "") => ({ kind: "command", name, argument });

it.each([
  ["", { kind: "nothing" }],
  ["  \t", { kind: "nothing" }],
  ["/help", command("help")],
  ["/reset ", command("reset")],
  ["/stats", command("stats")],
  ["/exit", command("exit")],
  ["/system You are a pirate.", command("system", "You are a pirate.")],
  ["/system two\nlines", command("system", "two\nlines")],
  ["/system", command("system", "")],
  ["/frobnicate now", command("frobnicate", "now")],
  ["Hello /help", { kind: "message", text: "Hello /help" }],
  [" /help", { kind: "message", text: " /help" }],
  ["/", command("")],
  ["/ ", command("")],
  ["/ hello", { kind: "message", text: "/ hello" }],
  ["/usr/bin is what?", { kind: "message", text: "/usr/bin is what?" }],
  ["/no_think Why?", { kind: "message", text: "/no_think Why?" }],
])("%j", (line, input) => {
  expect(parseChatInput(line)).toEqual(input);
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
