import { expect, it } from "vitest";
import { joinEvents } from "../../src/timing/lane-events.ts";
import { overlapOf } from "../../src/timing/overlap.ts";
import type { LaneEvent } from "../../src/timing/recording.ts";

const event = (kind: LaneEvent["kind"], startMs: number, ms: number, stage = 0): LaneEvent => ({
  kind,
  stage,
  startMs,
  ms,
});

it("overlap is time in which both went on, however many threads did", () => {
  const lanes = [
    { thread: "reader", events: [event("read", 0, 10), event("read", 10, 5), event("read", 30, 10)] },
    { thread: "compute 0", events: [event("wait", 0, 5), event("attention", 5, 8), event("output", 35, 10)] },
    { thread: "compute 1", events: [event("feed-forward", 6, 12)] },
  ];
  // Reads: 0–15, 30–40. Computing: 5–18, 35–45. Both: 5–15, 35–40.
  expect(overlapOf({ sweep: 0, lanes })).toEqual({ readMs: 25, computeMs: 23, bothMs: 15 });
  expect(overlapOf({ sweep: 0, lanes: [] })).toEqual({ readMs: 0, computeMs: 0, bothMs: 0 });
});

it("pieces without a break are one, of the same kind and stage", () => {
  const events = [
    event("read", 0, 2),
    event("read", 2.1, 2),
    event("read", 4.1, 1, 1),
    event("read", 9, 1, 1),
  ];
  expect(joinEvents(events)).toEqual([
    event("read", 0, 4.1),
    event("read", 4.1, 1, 1),
    event("read", 9, 1, 1),
  ]);
  expect(joinEvents([])).toEqual([]);
});
