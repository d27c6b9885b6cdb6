/**
 * A recording as Chrome trace events, the JSON that Perfetto and chrome://tracing open: "Trace Event Format" by Google,
 * the JSON object form. Complete events (ph X), counters (C) and metadata (M); times are microseconds.
 */
import type { LaneEvent, RecordedFile, Recording } from "./recording.ts";

/** One process. Threads: what the program did, the sweeps, files of an unpack, then the lanes of the timelines. */
const PROCESS = 1;
const MAIN = 1;
const SWEEPS = 2;
const FILES = 3;
const FIRST_LANE = 10;

export interface TraceEvent {
  readonly name: string;
  readonly cat?: string;
  readonly ph: "X" | "C" | "M";
  readonly pid: number;
  readonly tid: number;
  /** Microseconds, as `dur`. */
  readonly ts: number;
  readonly dur?: number;
  readonly args?: Readonly<Record<string, string | number>>;
}

export interface Trace {
  readonly traceEvents: readonly TraceEvent[];
  readonly displayTimeUnit: "ms";
  readonly otherData: Readonly<Record<string, string | number>>;
}

export function traceText(recording: Recording): string {
  return `${JSON.stringify(traceOf(recording))}\n`;
}

export function traceOf(recording: Recording): Trace {
  const { command, model, machine, sluice, began, verdict } = recording;
  const lanes = [...new Set(recording.timelines.flatMap(({ lanes }) => lanes.map(({ thread }) => thread)))];
  const threads: readonly (readonly [tid: number, name: string])[] = [
    [MAIN, "main"],
    ...(recording.sweeps.length > 0 ? [[SWEEPS, "sweeps"] as const] : []),
    ...(recording.unpack ? [[FILES, "unpack"] as const] : []),
    ...lanes.map((thread, index) => [FIRST_LANE + index, thread] as const),
  ];
  const events = [
    metadata("process_name", 0, { name: `sluice ${command}${model ? ` ${model.name}` : ""}` }),
    ...threads.flatMap(([tid, name]) => [
      metadata("thread_name", tid, { name }),
      metadata("thread_sort_index", tid, { sort_index: tid }),
    ]),
    ...recording.spans.map(({ name, startMs, ms, tokens }) =>
      complete(name, "span", MAIN, startMs, ms, tokens === undefined ? {} : { tokens }),
    ),
    ...recording.sweeps.map(({ kind, startMs, ms, rows, tokens }, sweep) =>
      complete(kind, "sweep", SWEEPS, startMs, ms, { sweep, rows, ...(tokens !== undefined && { tokens }) }),
    ),
    ...(recording.unpack?.files ?? []).map(fileEvent),
    ...recording.timelines.flatMap(({ sweep, lanes: timeline }) =>
      timeline.flatMap(({ thread, events }) =>
        events.map((event) => laneEvent(event, FIRST_LANE + lanes.indexOf(thread), sweep, model?.layers)),
      ),
    ),
    ...recording.memory.map(
      ({ atMs, rssBytes }): TraceEvent => ({
        name: "memory",
        ph: "C",
        pid: PROCESS,
        tid: 0,
        ts: microseconds(atMs),
        args: { "resident bytes": rssBytes },
      }),
    ),
  ];
  return {
    traceEvents: disentangled(events),
    displayTimeUnit: "ms",
    otherData: { sluice, began, cpu: machine.cpu, ...(verdict && { verdict: verdict.text }) },
  };
}

/**
 * In the order of time, and no event of a thread longer than to the next one: where rounding makes two overlap by a
 * microsecond, a viewer would take one for a part of the other.
 */
function disentangled(events: readonly TraceEvent[]): TraceEvent[] {
  const sorted = [...events].sort((a, b) => a.ts - b.ts);
  const next = new Map<number, number>();
  for (let index = sorted.length - 1; index >= 0; index--) {
    const event = sorted[index];
    if (event.dur === undefined) continue;
    const room = (next.get(event.tid) ?? Number.POSITIVE_INFINITY) - event.ts;
    if (event.dur > room) sorted[index] = { ...event, dur: microseconds(room / 1000) };
    next.set(event.tid, event.ts);
  }
  return sorted;
}

function metadata(name: string, tid: number, args: Readonly<Record<string, string | number>>): TraceEvent {
  return { name, ph: "M", pid: PROCESS, tid, ts: 0, args };
}

function complete(
  name: string,
  cat: string,
  tid: number,
  startMs: number,
  ms: number,
  args: Readonly<Record<string, string | number>>,
): TraceEvent {
  return { name, cat, ph: "X", pid: PROCESS, tid, ts: microseconds(startMs), dur: microseconds(ms), args };
}

function fileEvent(file: RecordedFile): TraceEvent {
  const { name, startMs, ms, bytes, stored, readMs, dequantizeMs, encodeMs, writeMs } = file;
  const args = { bytes, stored, readMs, dequantizeMs, encodeMs, writeMs };
  return complete(name, "unpack", FILES, startMs, ms, args);
}

function laneEvent(event: LaneEvent, tid: number, sweep: number, layers: number | undefined): TraceEvent {
  const { kind, stage, startMs, ms, bytes } = event;
  const where = stage === layers || kind === "output" ? "output" : `layer ${stage}`;
  const name = kind === "output" ? kind : `${kind} ${where}`;
  return complete(name, kind, tid, startMs, ms, { sweep, stage, ...(bytes !== undefined && { bytes }) });
}

/** Whole nanoseconds at most: viewers keep no more. */
function microseconds(ms: number): number {
  return Math.round(ms * 1e6) / 1e3;
}
