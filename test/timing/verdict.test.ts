import { describe, expect, it } from "vitest";
import type { SweepTiming } from "../../src/timing/types.ts";
import { judge } from "../../src/timing/verdict.ts";
import { stage } from "./sweeps.ts";

/** A decode sweep of two layers and an output, with these milliseconds in all. */
function sweep(ms: number, waitMs: number, computeMs: number): SweepTiming {
  const third = stage(1e9, ms / 3, waitMs / 3, computeMs / 3);
  return {
    startMs: 0,
    handoverMs: 0,
    rows: 1,
    ms,
    embedding: stage(0, 0, 0, 0),
    layers: [third, third],
    output: third,
  };
}

const streaming = { streamedBytes: 3e9, residentBytes: 0, roomBytes: 0 };
const starved = [sweep(1000, 850, 150), sweep(1000, 850, 150)];

describe("a verdict", () => {
  it("says that the disk sets the speed, and how much of it was reached", () => {
    expect(judge(starved, streaming)).toEqual({ bound: "disk", text: "disk-bound: 3.00 GB/s" });
    expect(judge(starved, { ...streaming, disk: 3.2e9 })?.text).toBe("disk-bound: 94 % of 3.20 GB/s");
    expect(judge(starved, { ...streaming, disk: 2.9e9 })?.text).toBe("disk-bound: 100 % of 2.90 GB/s");
  });

  it("says what more memory would save", () => {
    const verdict = judge(starved, { ...streaming, roomBytes: 1.2e9, disk: 3.2e9 });
    expect(verdict?.text).toBe(
      "disk-bound: 94 % of 3.20 GB/s; 1.20 GB more of --ram would save 0.40 s a token",
    );
    expect(verdict?.gain).toMatchObject({ bytes: 1.2e9, savedSeconds: expect.closeTo(0.4) });
    expect(verdict?.gain?.factor).toBeCloseTo(1 / 0.6);
  });

  it("knows that arithmetic is left when all weights are in memory, and that there are no more of them", () => {
    const gain = judge(starved, { ...streaming, roomBytes: 50e9 })?.gain;
    expect(gain).toMatchObject({ bytes: 3e9, savedSeconds: expect.closeTo(0.85) });
    expect(gain?.factor).toBeCloseTo(1 / 0.15);
  });

  it("has nothing to say of memory that would not help", () => {
    expect(judge(starved, { ...streaming, roomBytes: 0.01e9 })?.gain).toBeUndefined();
    expect(judge([sweep(1000, 20, 980)], { ...streaming, roomBytes: 9e9 })?.gain).toBeUndefined();
  });

  it("tells the page cache from a disk", () => {
    const verdict = judge([sweep(300, 200, 100)], { ...streaming, disk: 3e9 });
    expect(verdict).toEqual({ bound: "page cache", text: "bound by the page cache: 10.0 GB/s" });
  });

  it("says that the arithmetic sets the speed, and how much of its own was reached", () => {
    const busy = [sweep(1000, 50, 950)];
    expect(judge(busy, { ...streaming, disk: 4e9, arithmetic: 4e9 })).toEqual({
      bound: "compute",
      text: "compute-bound: the 3.00 GB/s that are read keep up; 79 % of 4.00 GB/s of weights",
    });
  });

  it("says so when nothing is read", () => {
    const resident = { streamedBytes: 0, residentBytes: 3e9, roomBytes: 9e9 };
    expect(judge([sweep(100, 0, 100)], resident)).toEqual({
      bound: "memory",
      text: "in memory: 30.0 GB/s of weights",
    });
    expect(judge([sweep(100, 0, 100)], { ...resident, arithmetic: 40e9 })?.text).toBe(
      "in memory: 75 % of 40.0 GB/s of weights",
    );
  });

  it("needs a decoded token", () => {
    expect(judge([], streaming)).toBeUndefined();
  });
});
