import { expect, it } from "vitest";
import { failureLines, isBrokenPipe } from "../../src/cli/exit.ts";
import { SluiceError } from "../../src/errors.ts";

it("prints what happened, and what to do", () => {
  expect(failureLines(new SluiceError("io", "cannot read it", { next: "Look." }))).toEqual([
    "sluice: cannot read it",
    "  Look.",
  ]);
  expect(failureLines(new SluiceError("io", "cannot read it"))).toEqual(["sluice: cannot read it"]);
});

it("prints an unforeseen error as one clean line", () => {
  const [first, ...rest] = failureLines(new TypeError("x is not a function\n  at y"));
  expect(first).toBe("sluice: unexpected error: x is not a function");
  expect(rest.join()).toContain("SLUICE_DEBUG");
  expect(failureLines("thrown text")[0]).toBe("sluice: unexpected error: thrown text");
});

it("knows a broken pipe", () => {
  expect(isBrokenPipe(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }))).toBe(true);
  expect(isBrokenPipe(new Error("other"))).toBe(false);
});
