import { describe, expect, it } from "vitest";
import { textWidth } from "../../src/cli/text-width.ts";
import { cutText, hangText, shortenText, wrapText } from "../../src/cli/wrap-text.ts";

describe("wrapText", () => {
  it.each<[string, number, string[]]>([
    ["", 5, [""]],
    ["one two three", 7, ["one two", "three"]],
    ["one two three", 8, ["one two", "three"]],
    ["foo barbazz q", 10, ["foo", "barbazz q"]],
    ["one  two", 4, ["one", "two"]],
    ["a\n\nb\n", 5, ["a", "", "b", ""]],
    ["abcdefgh", 3, ["abc", "def", "gh"]],
    ["x abcdefgh", 4, ["x ab", "cdef", "gh"]],
    ["  indented", 12, ["  indented"]],
    ["a\tb", 9, ["a    b"]],
    ["日本語です。はい", 6, ["日本語", "です。", "はい"]],
    ["日本語です。", 10, ["日本語で", "す。"]],
    ["say 日本語", 6, ["say 日", "本語"]],
    ["😀😀😀", 4, ["😀😀", "😀"]],
    ["👩‍👩‍👧👩‍👩‍👧", 3, ["👩‍👩‍👧", "👩‍👩‍👧"]],
    ["e\u0301e\u0301e\u0301", 2, ["e\u0301e\u0301", "e\u0301"]],
  ])("%j in %i columns", (text, columns, lines) => {
    expect(wrapText(text, columns)).toEqual(lines);
  });

  it("never makes a line too wide, and loses nothing but spaces", () => {
    const text =
      "The quick 日本語 brown 🦊 jumps over\tthe lazy   dog, internationalization! \u1100\uac00 한국어 말 ".repeat(
        3,
      );
    const bare = (string: string) => string.replace(/\s/g, "");
    for (let columns = 2; columns < 90; columns++) {
      const lines = wrapText(text, columns);
      for (const line of lines) expect(textWidth(line), `${columns}: ${line}`).toBeLessThanOrEqual(columns);
      expect(bare(lines.join(""))).toBe(bare(text));
    }
  });
});

it.each([
  ["hello", 5, "hello"],
  ["hello", 4, "hell"],
  ["日本", 3, "日"],
  ["ae\u0301b", 2, "ae\u0301"],
  ["a😀", 2, "a"],
  ["x", 0, ""],
])("cuts %j to %i columns", (text, columns, cut) => {
  expect(cutText(text, columns)).toBe(cut);
});

it.each([
  ["short  row", ["short  row"]],
  ["/set NAME  change how answers are", ["/set NAME  change how", "           answers are"]],
  ["temp  0.8  some randomness of it", ["temp  0.8  some", "           randomness", "           of it"]],
  ["  an indented line of text", ["  an indented line of", "  text"]],
  ["what begins too far  right", ["what begins too far", "right"]],
])("hangs what does not fit below its column: %j", (line, rows) => {
  expect(hangText(line, 22)).toEqual(rows);
});

it.each([
  ["What is the capital", "What is the capital"],
  ["What is the capital of", "What is the capital…"],
  ["What is the capitalism", "What is the…"],
  ["Donaudampfschifffahrtsgesellschaft", "Donaudampfschifffah…"],
  ["日本語の文章は空白がない", "日本語の文章は空白…"],
])("shortens %j to %j", (text, short) => {
  expect(shortenText(text, 20)).toBe(short);
});
