import { expect, it } from "vitest";
import { layOut, windowOf } from "../../../src/cli/line-editor/layout.ts";

const PROMPTS = ["> ", ". "] as const;

it("breaks lines before the last column, and knows where the cursor is", () => {
  expect(layOut("abc", "abcdefgh", 8, PROMPTS)).toEqual({
    rows: ["> abcde", "fgh"],
    cursorRow: 0,
    cursorColumn: 5,
  });
  expect(layOut("one\ntw", "one\ntwo", 8, PROMPTS)).toEqual({
    rows: ["> one", ". two"],
    cursorRow: 1,
    cursorColumn: 4,
  });
});

it("counts the columns of what is seen as one character", () => {
  const text = "日本👩‍👧e\u0301🇯🇵";
  expect(layOut(text, text, 20, PROMPTS).cursorColumn).toBe(2 + 4 + 2 + 1 + 2);
  expect(layOut("日本語", "日本語", 8, PROMPTS).rows).toEqual(["> 日本", "語"]);
});

it("shows tabs as spaces, and what could drive the terminal as it is called", () => {
  expect(layOut("\t|", "\t|", 30, PROMPTS).rows).toEqual([">       |"]);
  expect(layOut("\u202e", "\u202e", 30, PROMPTS).rows).toEqual(["> \\u{202e}"]);
});

it("shows the part around the cursor where there are more rows than on the screen", () => {
  const lines = Array.from({ length: 9 }, (_, line) => String(line)).join("\n");
  const rows = (before: string) => {
    const seen = windowOf(layOut(before, lines, 20, PROMPTS), 3);
    return [seen.rows.map((row) => row.slice(2)).join(""), seen.cursorRow];
  };
  expect(rows(lines)).toEqual(["678", 2]);
  expect(rows("")).toEqual(["012", 0]);
  expect(rows("0\n1\n2\n3\n4")).toEqual(["345", 1]);
});
