import type { StageTiming } from "../timing/types.ts";

const FIELDS = 4;
const [BYTES, READ, WAIT, COMPUTE] = [0, 1, 2, 3];

/**
 * Times of each stage (layer, or output) in shared memory, for two sweeps in turn: while the threads compute one,
 * the reader may already be at the next.
 */
export class StageTimes {
  readonly shared: SharedArrayBuffer;
  readonly #stages: number;
  readonly #values: Float64Array;

  constructor(stages: number, shared = new SharedArrayBuffer(2 * stages * FIELDS * 8)) {
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

  /** Compute thread 0: a stage is done. */
  addCompute(sweep: number, stage: number, waitMs: number, computeMs: number): void {
    const at = this.#at(sweep, stage);
    this.#values[at + WAIT] += waitMs;
    this.#values[at + COMPUTE] += computeMs;
  }

  /** Main thread, between sweeps: the times of a sweep that is done; makes room for the one after the next. */
  take(sweep: number): StageTiming[] {
    const timings = Array.from({ length: this.#stages }, (_, stage) => {
      const at = this.#at(sweep, stage);
      const [bytes, readMs, waitMs, computeMs] = this.#values.subarray(at, at + FIELDS);
      return { bytes, readMs, waitMs, computeMs };
    });
    const first = this.#at(sweep, 0);
    this.#values.fill(0, first, first + this.#stages * FIELDS);
    return timings;
  }

  reset(): void {
    this.#values.fill(0);
  }

  #at(sweep: number, stage: number): number {
    return ((sweep % 2) * this.#stages + stage) * FIELDS;
  }
}
