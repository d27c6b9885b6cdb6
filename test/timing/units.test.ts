import { expect, it } from "vitest";
import { formatMs, formatShare, threeDigits, tieUnits } from "../../src/timing/units.ts";

it("numbers for people", () => {
  expect([0, 0.0123, 0.5, 12.34, 123.4, 999.6, 12_340, 725_000, 21_083_000].map(formatMs)).toEqual([
    "0 ms",
    "0.012 ms",
    "0.50 ms",
    "12.3 ms",
    "123 ms",
    "1.00 s",
    "12.3 s",
    "12 min 5 s",
    "5 h 51 min",
  ]);
  expect([0, 0.0001, 0.004, 0.5, 1.2].map(formatShare)).toEqual([
    "0 %",
    "under 0.1 %",
    "0.4 %",
    "50 %",
    "120 %",
  ]);
  expect([0, 0.0042, 1.234, 99.96, 1234.5].map(threeDigits)).toEqual(["0", "0.004", "1.23", "100", "1235"]);
});

it("units stay with their numbers", () => {
  expect(tieUnits("reading 4.84 s, 99 % of 12.3 GB in 3 threads")).toBe(
    "reading 4.84\u00a0s, 99\u00a0% of 12.3\u00a0GB in 3 threads",
  );
});
