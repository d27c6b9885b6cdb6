import { expect, it } from "vitest";
import { StopTexts } from "../../src/engine/stop-texts.ts";
import { seeded } from "../random.ts";

/** What comes out for each piece, then at the end. */
function through(stops: readonly string[], pieces: readonly string[]) {
  const texts = new StopTexts(stops);
  const out = pieces.map((piece) => texts.push(piece));
  return { out: [...out, texts.end()], found: texts.found };
}

it.each<[string[], string[], string[], string | undefined]>([
  [[], ["one", " two"], ["one", " two", ""], undefined],
  [["\n"], ["one", "\n", "two"], ["one", "", "", ""], "\n"],
  [["\n"], ["one\ntwo"], ["one", ""], "\n"],
  // over pieces, and recognised only when a part of it has come
  [["STOP"], ["a S", "T", "OP b", "c"], ["a ", "", "", "", ""], "STOP"],
  [["STOP"], ["a S", "T", "AR"], ["a ", "", "STAR", ""], undefined],
  [["STOP"], ["a ST"], ["a ", "ST"], undefined],
  // a beginning inside a beginning
  [["aab"], ["a", "a", "a", "b"], ["", "", "a", "", ""], "aab"],
  [["User:", "\n\n"], ["Hi\n", "\n", "User:"], ["Hi", "", "", ""], "\n\n"],
  // the one that is complete first
  [["abcd", "bc"], ["abcd"], ["a", ""], "bc"],
  [["bc", "abc"], ["xabc"], ["x", ""], "abc"],
  [["é"], ["caf", "é!"], ["caf", "", ""], "é"],
])("stops %j in %j", (stops, pieces, out, found) => {
  expect(through(stops, pieces)).toEqual({ out, found });
});

it("ends a text at the same place however it is cut", () => {
  const random = seeded(7);
  const letters = (length: number) => Array.from({ length }, () => "ab\n"[Math.floor(random() * 3)]).join("");
  let stopped = 0;
  for (let round = 0; round < 500; round++) {
    const text = letters(12);
    const stops = [letters(2), letters(3), letters(5)];
    const whole = through(stops, [text]);
    const pieces: string[] = [];
    for (let at = 0; at < text.length; ) {
      const length = 1 + Math.floor(random() * 4);
      pieces.push(text.slice(at, at + length));
      at += length;
    }
    const cut = through(stops, pieces);
    expect(cut.out.join("")).toBe(whole.out.join(""));
    expect(cut.found).toBe(whole.found);
    if (cut.found !== undefined) stopped++;
  }
  expect(stopped).toBeGreaterThan(100);
});

it("refuses an empty text", () => {
  expect(() => new StopTexts(["a", ""])).toThrow(expect.objectContaining({ code: "bad-input" }));
});
