import type { StageTiming } from "../timing/types.ts";

const FIELDS = 5;
const [BYTES, READ, WAIT, FIRST_HALF, SECOND_HALF] = [0, 1, 2, 3, 4];
/** Behind the stages of each sweep: when thread 0 began with it and was done. */
const BEGAN = 0;
const ENDED = 1;
const MARKS = 2;

/** What there is of a sweep that is done. */
export interface SweepTimes {
  readonly stages: StageTiming[];
  /** Main thread's clock. */
  readonly began: number;
  readonly ended: number;
}

/**
 * Times of each stage (layer, or output) in shared memory, for two sweeps in turn: while the threads compute one,
 * the reader may already be at the next.
 */
export class StageTimes {
  readonly shared: SharedArrayBuffer;
  readonly #stages: number;
  readonly #values: Float64Array;

  constructor(stages: number, shared = new SharedArrayBuffer(2 * (stages * FIELDS + MARKS) * 8)) {
    this.#stages = stages;
    this.shared = shared;
    this.#values = new Float64Array(shared);
  }

  /** Reader: a chunk has arrived. */
  addRead(sweep: number, stage: number, bytes: number, ms: number): void {
    const at = this.#at(sweep, stage);
    this.#values[at + BYTES] += bytes;
    this.#values[at + READ] += ms;
  }

  /** Compute thread 0: half a stage is done. The output has only a first half. */
  addCompute(sweep: number, stage: number, half: 0 | 1, waitMs: number, computeMs: number): void {
    const at = this.#at(sweep, stage);
    this.#values[at + WAIT] += waitMs;
    this.#values[at + (half === 0 ? FIRST_HALF : SECOND_HALF)] += computeMs;
  }

  /** Compute thread 0: the sweep is done. Before the main thread is told. */
  mark(sweep: number, began: number, ended: number): void {
    const at = this.#at(sweep, this.#stages);
    this.#values[at + BEGAN] = began;
    this.#values[at + ENDED] = ended;
  }

  /** Main thread, between sweeps: the times of a sweep that is done; makes room for the one after the next. */
  take(sweep: number): SweepTimes {
    const stages = Array.from({ length: this.#stages }, (_, stage) => {
      const at = this.#at(sweep, stage);
      const [first, second] = [this.#values[at + FIRST_HALF], this.#values[at + SECOND_HALF]];
      const halves = stage < this.#stages - 1 && { attentionMs: first, feedForwardMs: second };
      return {
        bytes: this.#values[at + BYTES],
        readMs: this.#values[at + READ],
        waitMs: this.#values[at + WAIT],
        computeMs: first + second,
        ...halves,
      };
    });
    const start = this.#at(sweep, 0);
    const marks = this.#at(sweep, this.#stages);
    const [began, ended] = this.#values.subarray(marks, marks + MARKS);
    this.#values.fill(0, start, marks + MARKS);
    return { stages, began, ended };
  }

  reset(): void {
    this.#values.fill(0);
  }

  #at(sweep: number, stage: number): number {
    return (sweep % 2) * (this.#stages * FIELDS + MARKS) + stage * FIELDS;
  }
}
