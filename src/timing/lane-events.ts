import type { LaneEvent } from "./recording.ts";

/** Events of a kind that are closer together than this are one. */
const BREAK_MS = 0.2;

/** Pieces of one stage that follow each other without a break become one event, with their bytes together. */
export function joinEvents(events: readonly LaneEvent[]): LaneEvent[] {
  const joined: LaneEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    const follows =
      last?.kind === event.kind &&
      last.stage === event.stage &&
      event.startMs - (last.startMs + last.ms) < BREAK_MS;
    if (follows) joined[joined.length - 1] = join(last, event);
    else joined.push(event);
  }
  return joined;
}

function join(first: LaneEvent, second: LaneEvent): LaneEvent {
  const bytes = (first.bytes ?? 0) + (second.bytes ?? 0);
  const endMs = Math.max(first.startMs + first.ms, second.startMs + second.ms);
  return { ...first, ms: endMs - first.startMs, ...(bytes > 0 && { bytes }) };
}
