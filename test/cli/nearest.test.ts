import { expect, it } from "vitest";
import { nearest } from "../../src/cli/nearest.ts";

const NAMES = ["system", "reset", "regen", "save", "stats", "set", "exit"];

it.each([
  ["sytsem", "system"],
  ["rest", "reset"],
  ["regn", "regen"],
  ["stat", "stats"],
  ["sys", "system"],
  ["exti", "exit"],
  ["frobnicate", undefined],
  ["", undefined],
])("takes %s for %s", (typed, meant) => {
  expect(nearest(typed, NAMES)).toBe(meant);
});
