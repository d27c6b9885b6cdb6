import type { MemorySample } from "./recording.ts";

const FIRST_INTERVAL_MS = 100;
/** When there are so many, every other one is dropped, and from then on half as many are taken. */
const MOST = 1200;

/** The memory of the process in the course of time: ten samples a second at first. Keeps no process alive. */
export class MemorySamples {
  #samples: MemorySample[] = [];
  #interval = FIRST_INTERVAL_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    this.#sample();
    this.#schedule();
  }

  /** @param start what times are counted from */
  samples(start: number): MemorySample[] {
    if (this.#timer !== undefined) this.#sample();
    return this.#samples.map(({ atMs, rssBytes }) => ({ atMs: Math.max(0, atMs - start), rssBytes }));
  }

  stop(): void {
    if (this.#timer === undefined) return;
    this.#sample();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Go on after a stop. */
  resume(): void {
    if (this.#timer === undefined) this.#schedule();
  }

  #schedule(): void {
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#sample(), this.#interval).unref();
  }

  #sample(): void {
    this.#samples.push({ atMs: performance.now(), rssBytes: process.memoryUsage.rss() });
    if (this.#samples.length < MOST) return;
    this.#samples = this.#samples.filter((_, index) => index % 2 === 0);
    this.#interval *= 2;
    this.#schedule();
  }
}
