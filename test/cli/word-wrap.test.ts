import { expect, it } from "vitest";
import { graphemes, graphemeWidth } from "../../src/cli/text-width.ts";
import { printWrapped, WordWrap } from "../../src/cli/word-wrap.ts";

/** What a terminal of so many columns shows of the sequences that wrapping makes use of. */
function screen(written: string, columns: number): string[] {
  const rows: string[][] = [[]];
  for (const [, back, erase, text] of written.replaceAll("\x1b", "␛").matchAll(/␛\[(\d+)D|(␛\[K)|([^␛]+)/g)) {
    let row = rows[rows.length - 1];
    if (back) row.splice(row.length - Number(back), Number(back));
    else if (!erase)
      for (const grapheme of graphemes(text)) {
        const width = graphemeWidth(grapheme);
        if (grapheme === "\n" || row.length + width > columns) rows.push([]);
        row = rows[rows.length - 1];
        if (grapheme !== "\n") row.push(grapheme, ...(width === 2 ? [""] : []));
      }
  }
  return rows.map((row) => row.join("").trimEnd());
}

function wrap(columns: number, ...pieces: string[]): string[] {
  const wrapping = new WordWrap(() => columns);
  return screen(pieces.map((piece) => wrapping.push(piece)).join(""), columns);
}

it.each([
  [["The quick brown fox jumps over"], ["The quick brown fox", "jumps over"]],
  [
    ["The quick brown fo", "xes", " jump"],
    ["The quick brown", "foxes jump"],
  ],
  [
    ["The quick brown fox ", "jumps"],
    ["The quick brown fox", "jumps"],
  ],
  [["abcdefghijklmnopqrstuvwxyz"], ["abcdefghijklmnopqrs", "tuvwxyz"]],
  [["ab abcdefghijklmnopqrstuvwxyz"], ["ab", "abcdefghijklmnopqrs", "tuvwxyz"]],
  [["one\n\ntwo"], ["one", "", "two"]],
])("breaks between words, whatever comes in one piece: %j", (pieces, rows) => {
  expect(wrap(20, ...pieces)).toEqual(rows);
  expect(wrap(20, ...pieces.join(""))).toEqual(rows);
});

it("counts the columns of CJK, emoji and combining characters", () => {
  expect(wrap(11, "日本語の文章は、空白がない。")).toEqual(["日本語の文", "章は、空白", "がない。"]);
  expect(wrap(11, "😀😀 👩‍👩‍👧 🇯🇵🇩🇪")).toEqual(["😀😀 👩‍👩‍👧", "🇯🇵🇩🇪"]);
  expect(wrap(11, "e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301 x")).toEqual([
    "e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301",
    "x",
  ]);
  expect(wrap(11, "👩", "\u200d", "👧 abcdefg")).toEqual(["👩‍👧 abcdefg"]);
});

it("leaves code and tables as they are", () => {
  const long = "x = 'a long line of code'";
  const text = `Run this code now:\n\`\`\`python\n${long}\n\`\`\`\nand then be happy again`;
  const wrapping = new WordWrap(() => 20);
  const written = wrapping.push(text);
  expect(written).toContain(`\n\`\`\`python\n${long}\n\`\`\`\n`);
  expect(written.endsWith("and then be happy \nagain")).toBe(true);
  for (const kept of [`| a | table of long rows |`, `~~~\n${long}\n~~~`, `\n    indented code is code`])
    expect(new WordWrap(() => 20).push(kept)).toBe(kept);
  expect(new WordWrap(() => 20).push("- a list\n    - item of a list")).toContain("\n    - item of a \nlist");
});

it("goes on in a new line where the terminal became narrower than the line", () => {
  let columns = 40;
  const wrapping = new WordWrap(() => columns);
  expect(wrapping.push("a line of thirty columns or")).not.toContain("\n");
  columns = 20;
  // The word that was begun stays whole.
  expect(wrapping.push("der")).toBe("der");
  expect(wrapping.push(" goes on, and wraps here")).toBe("\ngoes on, and wraps \nhere");
  expect(wrapping.column).toBe(4);
});

it("prints a whole text in lines of whole words on a terminal, unchanged elsewhere", () => {
  let written = "";
  const stream = { columns: 12, write: (text: string) => (written += text) };
  const { TERM, CI } = process.env;
  Object.assign(process.env, { TERM: "xterm", CI: "" });
  try {
    printWrapped("The capital of Japan\n", { ...stream, isTTY: true });
    expect(written).toBe("The capital\nof Japan\n");
    written = "";
    printWrapped("The capital of Japan\n", stream);
    expect(written).toBe("The capital of Japan\n");
  } finally {
    Object.assign(process.env, { TERM, CI });
    if (CI === undefined) delete process.env["CI"];
  }
});
