import { expect, it } from "vitest";
import { AnswerView } from "../../src/cli/answer-view.ts";

function show(isTTY: boolean, ...pieces: string[]): string {
  const written: string[] = [];
  const stream = (tty: boolean) => ({ isTTY: tty, columns: 80, write: (text: string) => written.push(text) });
  const view = new AnswerView({ stdout: stream(isTTY), stderr: stream(false) });
  for (const piece of pieces) view.write(piece);
  view.end();
  view.end();
  return written.join("");
}

const HOSTILE = "a\x1b]0;owned\x07b\x9b31m\tc\rd\x7f";

it("passes the text on as it is when piped", () => {
  expect(show(false, "one ", "", "two")).toBe("one two\n");
  expect(show(false, HOSTILE)).toBe(`${HOSTILE}\n`);
});

it("lets no control character but line breaks and tabs through to a terminal", () => {
  const shown = show(true, HOSTILE, "\n");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
  expect(shown).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
  expect(shown).toContain("owned");
  expect(shown).toContain("\t");
  expect(shown.endsWith("\n")).toBe(true);
});

it("ends the line, once", () => {
  expect(show(true, "text")).toBe("text\n");
  expect(show(true, "text\n")).toBe("text\n");
  expect(show(false, "text")).toBe("text\n");
  expect(show(true)).toBe("");
});

it("wraps words on a terminal only", () => {
  const words = "word ".repeat(30).trim();
  expect(show(true, words).split("\n")).toHaveLength(3);
  expect(show(false, words)).toBe(`${words}\n`);
});

it("hides thoughts, on a terminal and in a pipe, and what parts them from the answer", () => {
  for (const isTTY of [true, false]) {
    const written: string[] = [];
    const stdout = { isTTY, columns: 80, write: (text: string) => written.push(text) };
    const view = new AnswerView({ stdout, stderr: { write: () => {} }, hideThoughts: true });
    for (const piece of ["<think>", "\nWell", "</think>", "\n\n", "Yes."]) view.write(piece);
    view.end();
    expect(written.join("")).toBe("Yes.\n");
  }
});

it("puts a remark on a line of its own on a terminal, and keeps it out of a pipe", () => {
  for (const [isTTY, expected] of [
    [true, "one\n(remark)\ntwo\n"],
    [false, "one two\n"],
  ] as const) {
    const written: string[] = [];
    const stdout = { isTTY, columns: 80, write: (text: string) => written.push(text) };
    const stderr = { isTTY, write: (text: string) => isTTY && written.push(text) };
    const view = new AnswerView({ stdout, stderr });
    view.write("one");
    view.remark("(remark)");
    view.write(isTTY ? "two" : " two");
    view.end();
    expect(written.join("")).toBe(expected);
  }
});
