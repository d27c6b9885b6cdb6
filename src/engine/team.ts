import type { Control } from "../stream/control.ts";

/** Compute threads that run the same program, each on its share of the rows, and meet at barriers. */
export class Team {
  readonly thread: number;
  readonly #control: Control;

  constructor(control: Control, thread: number) {
    this.thread = thread;
    this.#control = control;
  }

  get threads(): number {
    return this.#control.threads;
  }

  /** This thread's share of `count` things: from `first` … */
  first(count: number): number {
    return Math.floor((count * this.thread) / this.#control.threads);
  }

  /** … up to, not including, `end`. */
  end(count: number): number {
    return Math.floor((count * (this.thread + 1)) / this.#control.threads);
  }

  /** This thread's share of the rows of a sweep: whole tiles of four, for `quantizeRows` packs these together. */
  firstRow(rows: number): number {
    return Math.min(rows, 4 * this.first(Math.ceil(rows / 4)));
  }

  endRow(rows: number): number {
    return Math.min(rows, 4 * this.end(Math.ceil(rows / 4)));
  }

  /** What every thread wrote before it, every thread may read after it. */
  barrier(): void {
    this.#control.barrier();
  }
}
