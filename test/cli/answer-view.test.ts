import { expect, it } from "vitest";
import { AnswerView } from "../../src/cli/answer-view.ts";

function show(isTTY: boolean, endsLine: boolean, ...pieces: string[]): string {
  const written: string[] = [];
  const stream = (tty: boolean) => ({ isTTY: tty, columns: 80, write: (text: string) => written.push(text) });
  const view = new AnswerView({ endsLine, stdout: stream(isTTY), stderr: stream(false) });
  for (const piece of pieces) view.write(piece);
  view.end();
  view.end();
  return written.join("");
}

const HOSTILE = "a\x1b]0;owned\x07b\x9b31m\tc\rd\x7f";

it("passes the text on as it is when piped", () => {
  expect(show(false, false, "one ", "", "two")).toBe("one two");
  expect(show(false, false, HOSTILE)).toBe(HOSTILE);
});

it("lets no control character but line breaks and tabs through to a terminal", () => {
  const shown = show(true, false, HOSTILE, "\n");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
  expect(shown).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
  expect(shown).toContain("owned");
  expect(shown).toContain("\t");
  expect(shown.endsWith("\n")).toBe(true);
});

it("ends the line on a terminal, and where that is asked for", () => {
  expect(show(true, false, "text")).toBe("text\n");
  expect(show(true, false, "text\n")).toBe("text\n");
  expect(show(false, true, "text")).toBe("text\n");
  expect(show(true, false)).toBe("");
});
