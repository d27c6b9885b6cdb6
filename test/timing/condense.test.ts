import { describe, expect, it } from "vitest";
import { condense, countOf, stagesOf, sumSweeps, sweepsOf } from "../../src/timing/condense.ts";
import type { LaneEvent } from "../../src/timing/recording.ts";
import { sampleRecording } from "./sample-recording.ts";

const recording = sampleRecording({ layers: 4, decode: 100, unpack: false });

describe("condense", () => {
  it("leaves short runs as they are", () => {
    expect(condense(recording).sweeps).toBe(recording.sweeps);
  });

  it("adds up neighbours of a kind in long ones: no number is lost", () => {
    const { sweeps } = condense(recording, 1, 120);
    expect(sweeps.length).toBe(18);
    expect(countOf(sweepsOf(sweeps, "prefill"))).toBe(1);
    expect(countOf(sweepsOf(sweeps, "decode"))).toBe(100);
    const before = sumSweeps(sweepsOf(recording.sweeps, "decode"));
    const after = sumSweeps(sweepsOf(sweeps, "decode"));
    expect(after.ms).toBeCloseTo(before.ms, 2);
    expect(after.rows).toBe(100);
    expect(after.endMs).toBe(before.endMs);
    stagesOf(after).forEach((stage, index) => {
      const same = stagesOf(before)[index];
      expect(stage.bytes).toBe(same.bytes);
      expect(stage.waitMs).toBeCloseTo(same.waitMs, 2);
      expect(stage.feedForwardMs ?? 0).toBeCloseTo(same.feedForwardMs ?? 0, 2);
    });
    const starts = sweeps.map(({ startMs }) => startMs);
    expect(starts).toEqual([...starts].sort((one, other) => one - other));
  });

  it("tells of each timeline which sweep it is of", () => {
    const { timelines } = condense(recording, 1, 120);
    expect(timelines.map(({ kind, number }) => `${kind} ${number}`)).toEqual([
      "prefill 1",
      "decode 1",
      "decode 2",
      "decode 3",
      "decode 100",
    ]);
    expect(timelines[4].startMs).toBe(recording.sweeps[100].startMs);
    const stray = condense({ ...recording, timelines: [{ sweep: 5000, lanes: [] }] });
    expect(stray.timelines).toEqual([]);
  });

  it("bounds the events of timelines", () => {
    const events = Array.from(
      { length: 30_000 },
      (_, index): LaneEvent => ({ kind: "read", stage: index >> 1, startMs: index, ms: 1, bytes: 10 }),
    );
    const timeline = { sweep: 0, lanes: [{ thread: "reader", events }] };
    const { timelines } = condense({ ...recording, timelines: [timeline, timeline] });
    expect(timelines.length).toBe(1);
    expect(timelines[0].lanes[0].events.length).toBe(15_000);
    expect(timelines[0].lanes[0].events[1]).toEqual({ kind: "read", stage: 1, startMs: 2, ms: 2, bytes: 20 });
  });
});
