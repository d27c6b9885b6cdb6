import { expect, it } from "vitest";
import { sessionTable } from "../../src/cli/session-table.ts";
import { textWidth } from "../../src/cli/text-width.ts";
import type { Head } from "../../src/session-store/head.ts";
import { conversation } from "../session-store/conversation.mjs";

it("keeps its columns whatever script the names are in, and is not driven by them", () => {
  const head = {
    ...conversation(2, { text: "and then some more words, and more" }).content,
    sluice: "1",
    blocks: [],
  };
  const entry = { path: "", automatic: false, bytes: 123_456, changed: new Date(2026, 0, 2, 3, 4), head };
  const evil: Head = { ...head, messages: [{ role: "user", content: "\u001b]0;title\u0007\nnext" }] };
  const lines = sessionTable([
    { ...entry, name: "work" },
    { ...entry, name: "猫の話 👩‍👩‍👧", head: evil },
    { path: "", automatic: false, bytes: 1, changed: new Date(0), name: "broken\n", problem: "is damaged" },
  ]);
  const places = lines.slice(0, 3).map((line) => textWidth(/^(.*?) (?:first|Question|\\u)/.exec(line)![1]));
  expect(new Set(places).size).toBe(1);
  expect(lines[1]).toMatch(/^work .* 2026-01-02 03:04 +4 +123 kB {2}Tiny q8 {2}Question 0 .*…$/);
  expect(lines[2]).toMatch(/\\u\{1b\}\]0;title\\u\{7\} next$/);
  expect(lines[3]).toMatch(/^broken\\n .*cannot be read$/);
});
