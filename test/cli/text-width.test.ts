import { expect, it } from "vitest";
import { graphemes, tabWidth, textWidth } from "../../src/cli/text-width.ts";

it.each([
  ["plain", 5],
  ["", 0],
  ["naïve", 5],
  ["e\u0301", 1],
  ["日本", 4],
  ["ｶﾅ", 2],
  ["한글", 4],
  ["🐱", 2],
  ["👩‍👩‍👧‍👦", 2],
  ["👍🏽", 2],
  ["🇯🇵🇩🇪", 4],
  ["❤️", 2],
  ["❤", 1],
  ["\u200b", 0],
  ["नि", 1],
  ["█░", 2],
])("%s takes %i columns", (text, width) => {
  expect(textWidth(text)).toBe(width);
});

it("takes apart what a reader sees as characters", () => {
  expect(graphemes("ae\u0301👩‍👧🇯🇵!")).toEqual(["a", "e\u0301", "👩‍👧", "🇯🇵", "!"]);
});

it("knows tab stops", () => {
  expect([0, 1, 7, 8].map(tabWidth)).toEqual([8, 7, 1, 8]);
});
