/**
 * What each thread does when, in shared memory, for two sweeps in turn (as in stage-times.ts). The threads always write
 * it, into room that is there from the start; the main thread looks at it between sweeps.
 */
import type { Lane, LaneEvent } from "../timing/recording.ts";

const KINDS = ["read", "wait", "attention", "feed-forward", "output"] as const;
const READ = 0;
const WAIT = 1;

/** Room of a lane for each stage. Where more happens, reads grow together and waits are added up. */
const STAGE_EVENTS = 64;
/** Half of it for each half of a stage, less what its end may need. */
const PART_EVENTS = STAGE_EVENTS / 2 - 3;
const FIELDS = 5;
/** Milliseconds between reads that a picture does not show. */
const SEAM_MS = 0.1;
/** Compute threads that have a lane: more are a wall of lines, and cost memory. */
const COMPUTE_LANES = 8;

/** Lane 0 is the reader's, those behind it belong to the first compute threads. */
export class Lanes {
  readonly shared: SharedArrayBuffer;
  readonly #lists: readonly (readonly [EventList, EventList])[];

  constructor(
    stages: number,
    threads: number,
    shared = new SharedArrayBuffer(laneCount(threads) * 2 * listLength(stages) * 8),
  ) {
    this.shared = shared;
    const length = listLength(stages);
    const list = (index: number) => new EventList(new Float64Array(shared, index * length * 8, length));
    this.#lists = Array.from({ length: laneCount(threads) }, (_, lane) => [
      list(2 * lane),
      list(2 * lane + 1),
    ]);
  }

  reader(): ReaderLane {
    return new ReaderLane(this.#lists[0]);
  }

  /** Undefined for threads that have none. */
  compute(thread: number): ComputeLane | undefined {
    return thread < COMPUTE_LANES ? new ComputeLane(this.#lists[1 + thread]) : undefined;
  }

  /** Main thread, between sweeps: what there is of a sweep that is done; makes room for the one after the next. */
  take(sweep: number): () => Lane[] {
    const taken = this.#lists.map((lists) => lists[sweep % 2].take());
    return () =>
      taken.map((values, lane) => ({
        thread: lane === 0 ? "reader" : `compute ${lane - 1}`,
        events: decode(values),
      }));
  }

  /** The same where nobody wants to know. */
  drop(sweep: number): void {
    for (const lists of this.#lists) lists[sweep % 2].clear();
  }

  reset(): void {
    for (const lists of this.#lists) for (const list of lists) list.clear();
  }
}

function laneCount(threads: number): number {
  return 1 + Math.min(threads, COMPUTE_LANES);
}

function listLength(stages: number): number {
  return 1 + stages * STAGE_EVENTS * FIELDS;
}

function decode(values: Float64Array): LaneEvent[] {
  return Array.from({ length: values.length / FIELDS }, (_, index) => {
    const [kind, stage, startMs, end, bytes] = values.subarray(index * FIELDS, (index + 1) * FIELDS);
    return { kind: KINDS[kind], stage, startMs, ms: end - startMs, ...(kind === READ && { bytes }) };
  });
}

/** How many events there are, then for each: kind, stage, start, end, bytes. */
class EventList {
  readonly #values: Float64Array;

  constructor(values: Float64Array) {
    this.#values = values;
  }

  get length(): number {
    return this.#values[0];
  }

  push(kind: number, stage: number, start: number, end: number, bytes: number): void {
    const at = 1 + this.length * FIELDS;
    if (at + FIELDS > this.#values.length) return;
    this.#values[at] = kind;
    this.#values[at + 1] = stage;
    this.#values[at + 2] = start;
    this.#values[at + 3] = end;
    this.#values[at + 4] = bytes;
    this.#values[0]++;
  }

  get lastEnd(): number {
    return this.#values[1 + (this.length - 1) * FIELDS + 3];
  }

  extendLast(end: number, bytes: number): void {
    const at = 1 + (this.length - 1) * FIELDS;
    this.#values[at + 3] = end;
    this.#values[at + 4] += bytes;
  }

  /** Events from `first` on belong to `stage`; those that are no waits are of this kind. */
  settle(first: number, kind: number, stage: number): void {
    for (let index = first; index < this.length; index++) {
      const at = 1 + index * FIELDS;
      if (this.#values[at] !== WAIT) this.#values[at] = kind;
      this.#values[at + 1] = stage;
    }
  }

  take(): Float64Array {
    const values = this.#values.slice(1, 1 + this.length * FIELDS);
    this.clear();
    return values;
  }

  clear(): void {
    this.#values[0] = 0;
  }
}

/** The reader's lane: its reads, those without a gap between them as one. */
export class ReaderLane {
  readonly #lists: readonly [EventList, EventList];
  #stage = -1;
  #inStage = 0;

  constructor(lists: readonly [EventList, EventList]) {
    this.#lists = lists;
  }

  read(sweep: number, stage: number, start: number, end: number, bytes: number): void {
    const list = this.#lists[sweep % 2];
    const known = stage === this.#stage && this.#inStage > 0 && list.length > 0;
    if (known && (start - list.lastEnd < SEAM_MS || this.#inStage >= STAGE_EVENTS)) {
      list.extendLast(end, bytes);
      return;
    }
    this.#inStage = known ? this.#inStage + 1 : 1;
    this.#stage = stage;
    list.push(READ, stage, start, end, bytes);
  }
}

/** The lane of a compute thread: stages in two parts, interrupted by waits. Nothing in it overlaps. */
export class ComputeLane {
  readonly #lists: readonly [EventList, EventList];
  #list: EventList;
  /** Where the part at work began, and where what is not written yet begins. */
  #first = 0;
  #from = 0;
  /** Milliseconds of waits that there was no room for. */
  #unwritten = 0;

  constructor(lists: readonly [EventList, EventList]) {
    this.#lists = lists;
    this.#list = lists[0];
  }

  begin(sweep: number, now: number): void {
    this.#list = this.#lists[sweep % 2];
    this.#first = this.#list.length;
    this.#from = now;
    this.#unwritten = 0;
  }

  wait(start: number, end: number): void {
    if (this.#list.length - this.#first >= PART_EVENTS - 1) {
      this.#unwritten += end - start;
      return;
    }
    this.#work(start);
    this.#list.push(WAIT, 0, start, end, 0);
    this.#from = end;
  }

  /** A part of a stage is done. */
  done(kind: "attention" | "feed-forward" | "output", stage: number, now: number): void {
    if (this.#unwritten > 0) {
      const end = this.#from + this.#unwritten;
      this.#list.push(WAIT, 0, this.#from, end, 0);
      this.#from = end;
      this.#unwritten = 0;
    }
    this.#work(now);
    this.#list.settle(this.#first, KINDS.indexOf(kind), stage);
    this.#first = this.#list.length;
    this.#from = now;
  }

  #work(end: number): void {
    // Of which kind and stage it is, `done` knows.
    if (end > this.#from) this.#list.push(READ, 0, this.#from, end, 0);
  }
}
