import { afterEach, expect, it, vi } from "vitest";
import { CHAT_COMMANDS, findCommand } from "../../../src/cli/chat-commands/index.ts";
import type { Talk } from "../../../src/cli/talk.ts";

afterEach(() => vi.restoreAllMocks());

function help(argument: string): string {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  findCommand("help")!.run({} as Talk, argument);
  const text = write.mock.calls.map(([text]) => text).join("");
  write.mockRestore();
  return text;
}

it("names every command, and has room in a window of 80 columns and 24 lines", () => {
  const text = help("");
  for (const { name } of CHAT_COMMANDS) expect(text).toContain(`/${name}`);
  expect(text).toContain("/exit, /quit");
  const lines = text.trimEnd().split("\n");
  expect(lines.length).toBeLessThan(23);
  for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
});

it("tells what one of them does, by any of its names", () => {
  expect(help("tokens")).toMatch(/^\/tokens \[TEXT\] {2}how full the context is/);
  expect(help("/quit")).toMatch(/^\/exit, \/quit {2}leave/);
  expect(() => help("frob")).toThrow("there is no /frob");
});
