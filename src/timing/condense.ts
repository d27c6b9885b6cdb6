/**
 * A recording as a report carries it. A run of thousands of sweeps is more than a page can show and a browser should
 * load, so neighbouring sweeps of a kind are added up until what is left is small; short runs stay as they are.
 */
import { joinEvents } from "./lane-events.ts";
import type { RecordedStage, RecordedSweep, Recording, Timeline } from "./recording.ts";

/** One sweep, or the sums over several in a row of the same kind. */
export interface SweepGroup extends RecordedSweep {
  /** Sweeps that were added up; absent: one. */
  readonly count?: number;
  /** When the last of them ended, where there are several. */
  readonly endMs?: number;
}

/** A timeline that knows which sweep it is of, though the sweeps may have been added up. */
export interface NumberedTimeline extends Timeline {
  readonly kind: RecordedSweep["kind"];
  /** Of the sweeps of its kind, from 1. */
  readonly number: number;
  readonly startMs: number;
  readonly ms: number;
}

export interface CondensedRecording extends Omit<Recording, "sweeps" | "timelines"> {
  readonly sweeps: readonly SweepGroup[];
  readonly timelines: readonly NumberedTimeline[];
}

/** What one report carries at most, of all its recordings together: with these it stays below 5 MB. */
const MOST_STAGES = 16_000;
const MOST_EVENTS = 20_000;
/** Of timelines with too many events: the reader and some compute threads, which all do the same. */
const MOST_LANES = 4;

/**
 * @param parts recordings that share a report
 * @param mostStages stages of all sweeps together that may be left
 */
export function condense(recording: Recording, parts = 1, mostStages = MOST_STAGES): CondensedRecording {
  return {
    ...recording,
    sweeps: group(recording.sweeps, mostStages / parts),
    timelines: condenseTimelines(recording, MOST_EVENTS / parts),
  };
}

/** Number the timelines. Where there are too many events, pieces of a stage are joined, and threads and the last timelines left out. */
function condenseTimelines({ sweeps, timelines }: Recording, most: number): NumberedTimeline[] {
  const tooMany = eventCount(timelines) > most;
  let count = 0;
  return timelines.flatMap(({ sweep: index, lanes }) => {
    const sweep = sweeps[index];
    if (sweep === undefined) return [];
    const timeline = {
      sweep: index,
      lanes: tooMany
        ? lanes.slice(0, MOST_LANES).map((lane) => ({ ...lane, events: joinEvents(lane.events) }))
        : lanes,
      kind: sweep.kind,
      number: sweepsOf(sweeps.slice(0, index + 1), sweep.kind).length,
      startMs: sweep.startMs,
      ms: sweep.ms,
    };
    const events = eventCount([timeline]);
    if (count > 0 && count + events > most) return [];
    count += events;
    return [timeline];
  });
}

function eventCount(timelines: readonly Timeline[]): number {
  return timelines.reduce(
    (total, { lanes }) => total + lanes.reduce((sum, { events }) => sum + events.length, 0),
    0,
  );
}

function group(sweeps: readonly RecordedSweep[], limit: number): readonly SweepGroup[] {
  const stages = (sweeps[0]?.layers.length ?? 0) + 2;
  const size = Math.ceil((sweeps.length * stages) / limit);
  if (size <= 1) return sweeps;
  return (["prefill", "decode"] as const)
    .flatMap((kind) => chunks(sweepsOf(sweeps, kind), size).map(sumSweeps))
    .sort((one, other) => one.startMs - other.startMs);
}

/** The sweeps of one kind, in order. */
export function sweepsOf<S extends RecordedSweep>(sweeps: readonly S[], kind: RecordedSweep["kind"]): S[] {
  return sweeps.filter((sweep) => sweep.kind === kind);
}

/** Add up sweeps of one kind. At least one. */
export function sumSweeps(sweeps: readonly SweepGroup[]): SweepGroup {
  const [first] = sweeps;
  const sum = (value: (sweep: SweepGroup) => number) =>
    microseconds(sweeps.reduce((total, sweep) => total + value(sweep), 0));
  const sumStage = (stage: (sweep: SweepGroup) => RecordedStage): RecordedStage => ({
    bytes: sum((sweep) => stage(sweep).bytes),
    readMs: sum((sweep) => stage(sweep).readMs),
    waitMs: sum((sweep) => stage(sweep).waitMs),
    computeMs: sum((sweep) => stage(sweep).computeMs),
    ...(stage(first).attentionMs !== undefined && {
      attentionMs: sum((sweep) => stage(sweep).attentionMs ?? 0),
      feedForwardMs: sum((sweep) => stage(sweep).feedForwardMs ?? 0),
    }),
  });
  return {
    kind: first.kind,
    startMs: first.startMs,
    ms: sum((sweep) => sweep.ms),
    rows: sum((sweep) => sweep.rows),
    embedding: sumStage((sweep) => sweep.embedding),
    layers: first.layers.map((_, layer) => sumStage((sweep) => sweep.layers[layer])),
    output: sumStage((sweep) => sweep.output),
    ...(first.handoverMs !== undefined && { handoverMs: sum((sweep) => sweep.handoverMs ?? 0) }),
    ...(sweeps.some(({ threadStartMs }) => threadStartMs !== undefined) && {
      threadStartMs: sum((sweep) => sweep.threadStartMs ?? 0),
    }),
    sampleMs: sum((sweep) => sweep.sampleMs),
    ...(sweeps.some(({ tokens }) => tokens !== undefined) && {
      tokens: sum(({ tokens, rows }) => tokens ?? rows),
      guessed: sum(({ guessed = 0 }) => guessed),
      held: sum(({ held = 0 }) => held),
      guessMs: sum(({ guessMs = 0 }) => guessMs),
    }),
    count: countOf(sweeps),
    endMs: Math.max(...sweeps.map(endOf)),
  };
}

/** When a sweep, or the last of several, ended. */
export function endOf({ startMs, ms, endMs }: SweepGroup): number {
  return endMs ?? startMs + ms;
}

/** How many sweeps these are. */
export function countOf(sweeps: readonly SweepGroup[]): number {
  return sweeps.reduce((total, { count = 1 }) => total + count, 0);
}

/** A sweep's stages in the order in which it runs through them: the embedding, the layers, the output. */
export function stagesOf({ embedding, layers, output }: RecordedSweep): readonly RecordedStage[] {
  return [embedding, ...layers, output];
}

/** What a clock of microseconds is good for; sums of such numbers else end in noise. */
function microseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
