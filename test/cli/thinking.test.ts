import { expect, it } from "vitest";
import { ThinkSplitter, thinkMarks, thinkSwitch } from "../../src/cli/thinking.ts";

const MARKS = { open: "<think>", close: "</think>" };

function split(pieces: readonly string[], thinking = false) {
  const splitter = new ThinkSplitter(MARKS, thinking);
  const all = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()];
  const joined = (thought: boolean) =>
    all
      .filter((piece) => piece.thought === thought)
      .map(({ text }) => text)
      .join("");
  return [joined(true), joined(false)];
}

it.each([
  ["<think>\nWell\n</think>\nYes.", ["<think>\nWell\n</think>", "\nYes."]],
  ["\n<think>a</thin b</think>c", ["\n<think>a</thin b</think>", "c"]],
  ["The mark <think> opens it.", ["", "The mark <think> opens it."]],
  ["<thin ice", ["", "<thin ice"]],
  ["<think>cut off</th", ["<think>cut off</th", ""]],
  ["<th", ["", "<th"]],
  ["", ["", ""]],
])("parts thoughts from the answer, whatever comes in one piece: %j", (text, parts) => {
  expect(split([text])).toEqual(parts);
  expect(split(text.split(""))).toEqual(parts);
});

it("begins in thoughts that the prompt has opened", () => {
  expect(split(["Well", "</think>Yes."], true)).toEqual(["Well</think>", "Yes."]);
});

it("finds marks and switch in the template", () => {
  expect(thinkMarks("{{ '[THINK]' }}").close).toBe("[/THINK]");
  expect(thinkMarks(undefined).open).toBe("<think>");
  expect(thinkSwitch("{%- if enable_thinking is defined and enable_thinking is false %}")).toBe(
    "enable_thinking",
  );
  expect(thinkSwitch("{% if not thinking %}")).toBe("thinking");
  expect(thinkSwitch("I was thinking of you {{ '<think>' }}")).toBeUndefined();
});
