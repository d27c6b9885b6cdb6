import { expect, it } from "vitest";
import {
  CHAT_COMMANDS,
  completeCommand,
  findCommand,
  unknownCommand,
} from "../../../src/cli/chat-commands/index.ts";

it("has names that can be typed, each once, and a line on each", () => {
  const names = CHAT_COMMANDS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, summary, rare } of CHAT_COMMANDS) {
    expect(name).toMatch(/^[a-z]+$/);
    expect(summary).toMatch(/^[^\n]{5,80}$/);
    // The help has one line for each.
    if (!rare) expect(summary.length, name).toBeLessThanOrEqual(58);
  }
});

it("finds commands in any case of letters, and says which one was meant", () => {
  expect(findCommand("Help")?.name).toBe("help");
  expect(findCommand("quit")).toBe(findCommand("exit"));
  expect(findCommand("frob")).toBeUndefined();
  expect(unknownCommand("")).toBe("A slash begins a command: /help lists them.");
  expect(unknownCommand("sytem")).toBe("There is no /sytem. Did you mean /system? /help lists the commands.");
  expect(unknownCommand("frobnicate")).toBe("There is no /frobnicate. /help lists the commands.");
});

it.each([
  ["", []],
  ["/re", ["/regen", "/reset"]],
  ["/q", ["/quit"]],
  ["/load a", ["/load ada", "/load a b"]],
  ["/save  a ", ["/save a b"]],
  ["/set top-", ["/set top-k", "/set top-p"]],
  ["/think h", ["/think hide"]],
  ["/help un", ["/help undo"]],
  ["/undo a", []],
  ["load a", []],
])("Tab makes of %j %j", (text, found) => {
  expect(completeCommand(text, () => ["ada", "a b", "work"])).toEqual(found);
});
