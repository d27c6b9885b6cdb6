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

it("says where the prefill is, and since when it runs", () => {
  expect(progressTexts(prefill, 8123)[0]).toBe("prefill 23 tokens · layer 12/36 · 8.1 s");
  expect(progressTexts({ ...prefill, rowsInSweep: 1, rowsTotal: 1 }, 12_345)[0]).toBe(
    "prefill 1 token · layer 12/36 · 12 s",
  );
});

it("says which part of a long prompt is computed", () => {
  const second = { ...prefill, rowsDone: 512, rowsInSweep: 512, rowsTotal: 1500 };
  expect(progressTexts(second, 900)[0]).toBe("prefill tokens 513-1024 of 1500 · layer 12/36 · 0.9 s");
});

it("says the pace of decoding once it is known", () => {
  expect(progressTexts(decode, 912)).toEqual(["layer 12/36 · 0.9 s/token", "layer 12/36", "12/36"]);
  expect(progressTexts(decode, 0)[0]).toBe("layer 12/36");
});
