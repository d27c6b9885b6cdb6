/** Whether reading and computing went on at the same time. */
import type { LaneEvent, Timeline } from "./recording.ts";

export interface Overlap {
  /** Milliseconds in which anything was read, in which anything was computed, and in which both went on. */
  readonly readMs: number;
  readonly computeMs: number;
  readonly bothMs: number;
}

type Interval = readonly [start: number, end: number];

export function overlapOf({ lanes }: Timeline): Overlap {
  const events = lanes.flatMap((lane) => lane.events);
  const reads = union(events.filter(({ kind }) => kind === "read"));
  const computing = union(events.filter(({ kind }) => kind !== "read" && kind !== "wait"));
  return { readMs: length(reads), computeMs: length(computing), bothMs: length(common(reads, computing)) };
}

/** The time that events cover, as intervals in order that do not touch. */
function union(events: readonly LaneEvent[]): Interval[] {
  const intervals = events
    .map(({ startMs, ms }): Interval => [startMs, startMs + ms])
    .sort(([one], [other]) => one - other);
  const joined: Interval[] = [];
  for (const [start, end] of intervals) {
    const last = joined.at(-1);
    if (last !== undefined && start <= last[1]) joined[joined.length - 1] = [last[0], Math.max(last[1], end)];
    else joined.push([start, end]);
  }
  return joined;
}

function common(some: readonly Interval[], others: readonly Interval[]): Interval[] {
  const shared: Interval[] = [];
  for (let one = 0, other = 0; one < some.length && other < others.length; ) {
    const start = Math.max(some[one][0], others[other][0]);
    const end = Math.min(some[one][1], others[other][1]);
    if (start < end) shared.push([start, end]);
    if (some[one][1] < others[other][1]) one++;
    else other++;
  }
  return shared;
}

function length(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, [start, end]) => sum + end - start, 0);
}
