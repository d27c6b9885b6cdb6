import { describe, expect, it } from "vitest";
import { Lanes } from "../../src/stream/lanes.ts";
import type { LaneEvent } from "../../src/timing/recording.ts";

/** Milliseconds of all events of a kind. */
const total = (events: readonly LaneEvent[], kind: LaneEvent["kind"]) =>
  events.filter((event) => event.kind === kind).reduce((sum, { ms }) => sum + ms, 0);

const seamless = (events: readonly LaneEvent[]) =>
  events.every(({ startMs }, index) => {
    const before = events[index - 1];
    return before === undefined || Math.abs(before.startMs + before.ms - startMs) < 1e-9;
  });

describe("the reader's lane", () => {
  it("shows reads without a gap as one, and those of another stage apart", () => {
    const lanes = new Lanes(3, 1);
    const reader = new Lanes(3, 1, lanes.shared).reader();
    reader.read(0, 0, 10, 12, 100);
    reader.read(0, 0, 12.01, 14, 100);
    reader.read(0, 0, 20, 21, 50);
    reader.read(0, 1, 21, 22, 70);
    reader.read(1, 0, 22, 23, 90);
    const [{ thread, events }] = lanes.take(0)();
    expect(thread).toBe("reader");
    expect(events).toEqual([
      { kind: "read", stage: 0, startMs: 10, ms: 4, bytes: 200 },
      { kind: "read", stage: 0, startMs: 20, ms: 1, bytes: 50 },
      { kind: "read", stage: 1, startMs: 21, ms: 1, bytes: 70 },
    ]);
    // What belongs to the next sweep was read ahead, and is still there; what was taken is gone.
    expect(lanes.take(1)()[0].events).toHaveLength(1);
    expect(lanes.take(0)()[0].events).toHaveLength(0);
  });

  it("is bounded, and keeps all bytes", () => {
    const lanes = new Lanes(2, 1);
    const reader = lanes.reader();
    for (let read = 0; read < 10_000; read++) reader.read(0, 0, 10 * read, 10 * read + 1, 3);
    reader.read(0, 1, 1e6, 1e6 + 1, 5);
    const { events } = lanes.take(0)()[0];
    expect(events.length).toBeLessThan(70);
    expect(events.reduce((sum, { bytes = 0 }) => sum + bytes, 0)).toBe(30_005);
    expect(events.at(-1)).toMatchObject({ stage: 1, startMs: 1e6, ms: 1 });
  });
});

describe("the lane of a compute thread", () => {
  it("tells the parts of a layer, and the waits in between", () => {
    const lanes = new Lanes(2, 2);
    const lane = lanes.compute(1)!;
    lane.begin(4, 100);
    lane.wait(100, 101);
    lane.wait(103, 104);
    lane.done("attention", 0, 106);
    lane.done("feed-forward", 0, 110);
    lane.wait(111, 112);
    lane.done("output", 1, 115);
    const taken = lanes.take(4)();
    expect(taken.map(({ thread }) => thread)).toEqual(["reader", "compute 0", "compute 1"]);
    expect(taken[2].events).toEqual([
      { kind: "wait", stage: 0, startMs: 100, ms: 1 },
      { kind: "attention", stage: 0, startMs: 101, ms: 2 },
      { kind: "wait", stage: 0, startMs: 103, ms: 1 },
      { kind: "attention", stage: 0, startMs: 104, ms: 2 },
      { kind: "feed-forward", stage: 0, startMs: 106, ms: 4 },
      { kind: "output", stage: 1, startMs: 110, ms: 1 },
      { kind: "wait", stage: 1, startMs: 111, ms: 1 },
      { kind: "output", stage: 1, startMs: 112, ms: 3 },
    ]);
  });

  it("is bounded, without a gap, and keeps all of the waiting, however often that is", () => {
    const lanes = new Lanes(3, 1);
    const lane = lanes.compute(0)!;
    lane.begin(0, 0);
    let now = 0;
    for (const [kind, stage] of [
      ["attention", 0],
      ["feed-forward", 0],
      ["attention", 1],
      ["feed-forward", 1],
      ["output", 2],
    ] as const) {
      for (let wait = 0; wait < 1000; wait++) {
        now += 3;
        lane.wait(now - 1, now);
      }
      lane.done(kind, stage, ++now);
    }
    const { events } = lanes.take(0)()[1];
    expect(events.length).toBeLessThan(3 * 64);
    expect(seamless(events)).toBe(true);
    expect(total(events, "wait")).toBe(5000);
    expect(total(events, "attention")).toBe(2 * 2001);
    expect(total(events, "output")).toBe(2001);
    expect(events.at(-1)!.startMs + events.at(-1)!.ms).toBe(now);
  });

  it("is there for the first threads only", () => {
    const lanes = new Lanes(2, 200);
    expect(lanes.compute(7)).toBeDefined();
    expect(lanes.compute(8)).toBeUndefined();
    expect(lanes.take(0)()).toHaveLength(9);
  });
});
