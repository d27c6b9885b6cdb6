import { describe, expect, it } from "vitest";
import { columnAfter, textWidth } from "../../src/cli/text-width.ts";

describe("textWidth", () => {
  it.each([
    ["hello", 5],
    ["", 0],
    ["héllo · Привет", 14],
    ["e\u0301", 1],
    ["こんにちは", 10],
    ["你好", 4],
    ["한국", 4],
    ["😀!", 3],
    ["\u200d", 0],
  ])("%j takes %i columns", (text, width) => {
    expect(textWidth(text)).toBe(width);
  });
});

describe("columnAfter", () => {
  it.each([
    ["abc", 0, 3],
    ["abc", 4, 7],
    ["ab\ncd", 7, 2],
    ["\n", 7, 0],
    ["\t", 0, 8],
    ["a\tb", 0, 9],
    ["\t", 9, 9],
    ["abc", 7, 10],
    ["abcd", 7, 1],
    ["x".repeat(25), 0, 5],
  ])("%j from column %i on, of 10: %i", (text, column, after) => {
    expect(columnAfter(text, column, 10)).toBe(after);
  });
});
