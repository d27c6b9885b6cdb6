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
  expect(rest.join()).toContain("--verbose");
  expect(failureLines("thrown text")[0]).toBe("sluice: unexpected error: thrown text");
});

it("lets no message drive the terminal or pass for a line of its own", () => {
  const error = new SluiceError("bad-input", "\x1b[2Jno\nsluice: fine", { next: "Look at \x9b1m." });
  expect(failureLines(error)).toEqual(["sluice: \\u{1b}[2Jno\\nsluice: fine", "  Look at \\u{9b}1m."]);
  expect(failureLines(new Error("\x1b[2J"))[0]).toBe("sluice: unexpected error: \\u{1b}[2J");
});

it("tells of what the operating system refused in the user's words", () => {
  const system = (code: string, more: object) => Object.assign(new Error(`${code}: x`), { code, ...more });
  expect(failureLines(system("ENOSPC", { syscall: "write" }))).toEqual([
    "sluice: the output could not be written: the disk is full",
    "  Write it somewhere else, or make room there.",
  ]);
  const full = system("EMFILE", { syscall: "open", path: "a" });
  expect(failureLines(full).join()).toMatch(/cannot open a: too many open files,.*ulimit -n/);
  const wrapped = new SluiceError("io", "cannot open a", { next: "Check the path.", cause: full });
  expect(failureLines(wrapped).join()).toMatch(/ulimit -n/);
  expect(failureLines(system("EFBIG", { syscall: "write" })).join()).toMatch(/ulimit -f/);
});

it("knows a broken pipe", () => {
  expect(isBrokenPipe(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }))).toBe(true);
  expect(isBrokenPipe(new Error("other"))).toBe(false);
});
