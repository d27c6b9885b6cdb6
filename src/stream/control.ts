/**
 * The words that the reader thread, the compute threads and the main thread agree by. All of them live in one
 * shared Int32Array, each on a cache line of its own. Counters only grow (and wrap at 32 bits, hence the
 * differences); whoever waits for one looks at `stop` again and again, so that nobody outlives a failure.
 */

/** int32 words in a cache line of 64 bytes. */
const LINE = 16;
const STOP = 0 * LINE;
/** Jobs that the main thread has asked for. */
const JOBS = 1 * LINE;
/** What the last of them is: the words of `Job` in their order. */
const JOB = 2 * LINE;
/** Chunks that the reader has come past: they are in the ring, or where they stay. */
const PRODUCED = 3 * LINE;
/** Stage (layer) that compute thread 0 is at. */
const STAGE = 4 * LINE;
const BARRIER_ARRIVED = 5 * LINE;
const BARRIER_PHASE = 6 * LINE;
/** Jobs that are sweeps, for which the reader reads. */
const SWEEPS = 7 * LINE;
/**
 * How many rows want logits: for two sweeps in turn, for the reader may look at one after the compute threads have ended it
 * and the next has been asked for.
 */
const ASKED = 8 * LINE;
/** Chunks that each compute thread is done with. */
const CONSUMED = 9 * LINE;

/** Behind each word that is waited for: how many threads sleep until it changes. */
const SLEEPERS = 1;

/** Looks of a compute thread at a word before it goes to sleep: longer than a barrier takes, shorter than a disk read. */
const SPINS = 2000;
/** Milliseconds between looks at `stop` while asleep. */
const NAP_MS = 50;

/** What the compute threads are asked for. */
export interface Job {
  /** Number of the sweep, from 0; -1: no sweep, but a look through the weights of the shadow (see engine/shadow.ts). */
  readonly sweep: number;
  readonly rows: number;
  /** How many of the rows want logits. */
  readonly asked: number;
  /** Address of room for a lens (see engine/lens.ts); 0: none is wanted. */
  readonly lens: number;
  /** How many of the first rows come in bytes, in tiles, and how many of those that ask. */
  readonly bytes: number;
  readonly tiled: number;
  readonly tiledAsked: number;
}

/** Thrown inside a worker to unwind when the sweep was stopped; never reaches a user. */
export class Stopped extends Error {}

export class Control {
  readonly shared: SharedArrayBuffer;
  readonly threads: number;
  readonly #words: Int32Array;

  constructor(threads: number, shared = new SharedArrayBuffer((CONSUMED + threads * LINE) * 4)) {
    this.threads = threads;
    this.shared = shared;
    this.#words = new Int32Array(shared);
  }

  /** Make every thread unwind. */
  stop(): void {
    Atomics.store(this.#words, STOP, 1);
    for (let word = 0; word < this.#words.length; word += LINE) Atomics.notify(this.#words, word);
  }

  get stopped(): boolean {
    return Atomics.load(this.#words, STOP) !== 0;
  }

  /** Back to the beginning; only while no thread is at work. */
  reset(): void {
    this.#words.fill(0);
  }

  /** Main thread: begin this, when what was asked for before is done. */
  postJob({ sweep, rows, asked, lens, bytes, tiled, tiledAsked }: Job): void {
    this.#words.set([sweep, rows, asked, lens, bytes, tiled, tiledAsked], JOB);
    Atomics.store(this.#words, STAGE, 0);
    if (sweep >= 0) {
      this.#words[ASKED + (sweep % 2)] = asked;
      this.#advance(SWEEPS);
    }
    this.#advance(JOBS);
  }

  /** Compute thread: wait until job number `job` (from 0) was asked for. */
  waitForJob(job: number): Job {
    this.#sleepUntilPast(JOBS, job);
    const [sweep, rows, asked, lens, bytes, tiled, tiledAsked] = this.#words.subarray(JOB, JOB + 7);
    return { sweep, rows, asked, lens: lens >>> 0, bytes, tiled, tiledAsked };
  }

  /** Reader: wait until sweep number `sweep` (from 0) was asked for. @returns how many of its rows want logits */
  waitForSweep(sweep: number): number {
    this.#sleepUntilPast(SWEEPS, sweep);
    return this.#words[ASKED + (sweep % 2)];
  }

  /** Reader: wait until all threads are done with chunk number `chunk`. */
  waitForConsumed(chunk: number): void {
    for (let thread = 0; thread < this.threads; thread++)
      this.#waitUntilPast(CONSUMED + thread * LINE, chunk);
  }

  /** Reader: the next chunk is in its place. */
  produce(): void {
    this.#advance(PRODUCED);
  }

  isProduced(chunk: number): boolean {
    return this.#isPast(PRODUCED, chunk);
  }

  /** Compute thread: wait until chunk number `chunk` (from 0) is in its place. */
  waitForChunk(chunk: number): void {
    this.#waitUntilPast(PRODUCED, chunk);
  }

  /** Compute thread: done with its oldest chunk. */
  consume(thread: number): void {
    this.#advance(CONSUMED + thread * LINE);
  }

  /** Chunks, over all sweeps, that the reader has come past, and that compute thread 0 is done with: they wrap. */
  get produced(): number {
    return Atomics.load(this.#words, PRODUCED);
  }

  get consumed(): number {
    return Atomics.load(this.#words, CONSUMED);
  }

  get stage(): number {
    return Atomics.load(this.#words, STAGE);
  }

  set stage(stage: number) {
    Atomics.store(this.#words, STAGE, stage);
  }

  /** Compute threads: go on when all have arrived. */
  barrier(): void {
    if (this.threads === 1) return;
    const phase = Atomics.load(this.#words, BARRIER_PHASE);
    if (Atomics.add(this.#words, BARRIER_ARRIVED, 1) === this.threads - 1) {
      Atomics.store(this.#words, BARRIER_ARRIVED, 0);
      this.#advance(BARRIER_PHASE);
    } else this.#waitUntilPast(BARRIER_PHASE, phase);
  }

  #advance(word: number): void {
    Atomics.add(this.#words, word, 1);
    // Waking is a call into the engine, and most of the time nobody sleeps. Whoever is about to sleep has counted itself
    // before it looks at the word a last time, so either it is seen here or it sees the change.
    if (Atomics.load(this.#words, word + SLEEPERS) > 0) Atomics.notify(this.#words, word);
  }

  #waitUntilPast(word: number, value: number): void {
    for (let spin = 0; spin < SPINS; spin++) if (this.#isPast(word, value)) return;
    this.#sleepUntilPast(word, value);
  }

  #sleepUntilPast(word: number, value: number): void {
    const words = this.#words;
    while (!this.#isPast(word, value)) {
      if (this.stopped) throw new Stopped();
      Atomics.add(words, word + SLEEPERS, 1);
      const current = Atomics.load(words, word);
      if (((current - value) | 0) <= 0) Atomics.wait(words, word, current, NAP_MS);
      Atomics.sub(words, word + SLEEPERS, 1);
    }
  }

  #isPast(word: number, value: number): boolean {
    return ((Atomics.load(this.#words, word) - value) | 0) > 0;
  }
}
