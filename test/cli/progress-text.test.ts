import { expect, it } from "vitest";
import { progressTexts } from "../../src/cli/progress-text.ts";

const prefill = {
  phase: "prefill",
  layer: 12,
  layers: 36,
  rowsDone: 0,
  rowsInSweep: 23,
  rowsTotal: 23,
} as const;
const decode = { phase: "decode", layer: 12, layers: 36, rowsDone: 0, rowsInSweep: 1, rowsTotal: 1 } as const;

it("draws how far the prefill is, with the time that is left", () => {
  expect(progressTexts(prefill, { ms: 8123 })).toEqual([
    "prefill ███████░░░░░░░░░░░░░ 33% · 23 tokens · layer 12/36 · 17 s left",
    "prefill 33% · 23 tokens · layer 12/36 · 17 s left",
    "prefill 33% · layer 12/36 · 17 s left",
    "prefill layer 12/36",
    "layer 12/36",
  ]);
  const one = { ...prefill, layer: 0, rowsInSweep: 1, rowsTotal: 1 };
  expect(progressTexts(one, { ms: 90 })[1]).toBe("prefill 0% · 1 token · layer 0/36");
});

it("says which part of a long prompt is computed", () => {
  const second = { ...prefill, layer: 36, rowsDone: 500, rowsInSweep: 250, rowsTotal: 1500 };
  expect(progressTexts(second, { ms: 60_000 })[1]).toBe(
    "prefill 50% · tokens 501-750 of 1500 · layer 36/36 · 1:00 left",
  );
});

it("says the pace of decoding once it is known, and how long it takes at most", () => {
  expect(progressTexts(decode, { ms: 912 })).toEqual(["layer 12/36 · 0.9 s/token", "layer 12/36"]);
  expect(progressTexts(decode, { ms: 0, tokens: 1, limit: 9 })).toEqual(["layer 12/36"]);
  expect(progressTexts(decode, { ms: 2000, tokens: 10, limit: 110 })).toEqual([
    "layer 12/36 · 2.0 s/token · token 11, at most 110 · 3:20 left at most",
    "layer 12/36 · 2.0 s/token · 3:20 left at most",
    "layer 12/36 · 2.0 s/token",
    "layer 12/36",
  ]);
});
