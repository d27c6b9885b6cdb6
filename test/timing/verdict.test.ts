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
    expect(judge(starved, streaming)).toEqual({
      bound: "disk",
      text: "the disk sets the speed of generation: 3.00 GB/s",
    });
    expect(judge(starved, { ...streaming, disk: 3.2e9 })?.text).toBe(
      "the disk sets the speed of generation: 3.00 GB/s, 94 % of the 3.20 GB/s that were measured",
    );
    expect(judge(starved, { ...streaming, disk: 2.9e9 })?.text).toBe(
      "the disk sets the speed of generation: 3.00 GB/s, 100 % of the 2.90 GB/s that were measured",
    );
  });

  it("says what more memory would save", () => {
    const verdict = judge(starved, { ...streaming, roomBytes: 1.2e9, disk: 3.2e9 });
    expect(verdict?.text).toBe(
      "the disk sets the speed of generation: 3.00 GB/s, 94 % of the 3.20 GB/s that were measured; 1.20 GB more of --ram would save 0.40 s a token",
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
    const text = "reading through the system's page cache sets the speed of generation: 10.0 GB/s";
    expect(verdict).toEqual({ bound: "page cache", text });
    // Small models: nothing was measured, and only the system knows where their bytes came from.
    expect(judge(starved, { ...streaming, direct: false })?.bound).toBe("page cache");
    expect(judge(starved, { ...streaming, direct: true })?.bound).toBe("disk");
  });

  it("says that the arithmetic sets the speed, and how much of its own was reached", () => {
    const busy = [sweep(1000, 50, 950)];
    expect(judge(busy, { ...streaming, disk: 4e9, arithmetic: 4e9 })).toEqual({
      bound: "compute",
      text: "the arithmetic sets the speed of generation: 3.16 GB/s of weights consumed, 79 % of the 4.00 GB/s that were measured; reading keeps up",
    });
  });

  it("says so when nothing is read", () => {
    const resident = { streamedBytes: 0, residentBytes: 3e9, roomBytes: 9e9 };
    expect(judge([sweep(100, 0, 100)], resident)).toEqual({
      bound: "memory",
      text: "the arithmetic sets the speed of generation, for all weights are in memory: 30.0 GB/s of weights consumed",
    });
    expect(judge([sweep(100, 0, 100)], { ...resident, arithmetic: 40e9 })?.text).toBe(
      "the arithmetic sets the speed of generation, for all weights are in memory: 30.0 GB/s of weights consumed, 75 % of the 40.0 GB/s that were measured",
    );
  });

  it("needs a decoded token", () => {
    expect(judge([], streaming)).toBeUndefined();
  });
});
