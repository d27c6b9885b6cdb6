import { expect, test } from "vitest";
import { formatDuration, ProgressBars } from "../../src/cli/progress-bars.ts";
import { mediumWarnings } from "../../src/cli/unpack-view.ts";

test.each([
  [0, "0 s"],
  [58.2, "59 s"],
  [59.5, "1:00"],
  [125, "2:05"],
  [3725, "1:02:05"],
])("%d seconds", (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
});

test("bars are silent where there is no terminal", () => {
  const stream = { isTTY: false, write: () => expect.unreachable() } as unknown as NodeJS.WriteStream;
  const bars = new ProgressBars(stream);
  const bar = bars.add("all", 10);
  bar.update(5);
  bar.restart("other", 20);
  bars.stop();
  expect(bars.shown).toBe(false);
});

test("a warning says what a folder lies on, how much is free, and what to do", () => {
  const [memory, next] = mediumWarnings("/tmp/x", { kind: "memory", fileSystem: "tmpfs", freeBytes: 5e9 });
  expect(memory).toMatch(/\/tmp\/x is in memory.*\(tmpfs, 5\.00 GB free\)/);
  expect(next).toContain("--cache-dir");
  expect(mediumWarnings("/x", { kind: "network", fileSystem: "nfs", freeBytes: 1 })[0]).toContain("network");
  expect(mediumWarnings("/x", { kind: "disk", freeBytes: 1 })).toEqual([]);
});
