import { describe, expect, test } from "vitest";
import { contentText, parseMessages } from "../../src/text/messages.ts";
import type { ChatMessage } from "../../src/text/types.ts";

const parse = (value: unknown) => () => parseMessages(JSON.stringify(value), "m.json");

test("keeps messages as they are, other fields included", () => {
  const messages = [
    { role: "user", content: "a" },
    { role: "assistant", content: null, tool_calls: [{ id: 1 }] },
    { role: "user", content: [{ type: "text", text: "b" }] },
  ];
  expect(parse(messages)()).toEqual(messages);
});

test("takes what an exported conversation holds", () => {
  const messages = [{ role: "user", content: "a" }];
  expect(parseMessages(JSON.stringify({ name: "x", messages }), "m.json")).toEqual(messages);
  expect(() => parseMessages('{"messages":{}}', "m.json")).toThrow(/holds no list/);
});

describe("says what is wrong, and where", () => {
  const ok = { role: "user", content: "a" };
  test.each([
    [{}, /m\.json: holds no list/],
    [[], /empty list/],
    [[ok, 3], /message 2 of 2 is no object/],
    [[{ content: "a" }], /message 1 of 1 has no role/],
    [[{ role: 1, content: "a" }], /role that is no text/],
    [[ok, { role: "user" }], /message 2 of 2 has no content/],
    [[{ role: "user", content: 5 }], /neither text, null nor/],
    [[{ role: "user", content: [{ type: "image" }] }], /"image": sluice knows only text/],
    [[{ role: "user", content: [{ type: "text" }] }], /part \(1\)/],
    [[{ role: "user", content: [null] }], /part \(1\)/],
  ])("%j", (value, message) => {
    expect(parse(value)).toThrow(message);
  });
  test("not JSON", () => expect(() => parseMessages("[", "m.json")).toThrow(/m\.json: is not JSON/));
});

test("text of a content", () => {
  const of = (content: unknown) => contentText({ role: "user", content } as ChatMessage);
  expect([
    of("a"),
    of(null),
    of([
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ]),
  ]).toEqual(["a", "", "a\nb"]);
});

test("what is nested too deep for a template is turned down", () => {
  const nested = (levels: number) =>
    `[{"role": "user", "content": "x", "a": ${"[".repeat(levels)}${"]".repeat(levels)}}]`;
  expect(parseMessages(nested(50), "it")).toHaveLength(1);
  expect(() => parseMessages(nested(5000), "it")).toThrow(
    "message 1 of 1 is nested more than 100 levels deep",
  );
});
