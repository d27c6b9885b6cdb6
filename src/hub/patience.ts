import { setTimeout as sleep } from "node:timers/promises";
import { type SluiceError, throwIfAborted } from "../errors.ts";
import type { PatienceOptions } from "./types.ts";

/** Counts failures in a row, and waits longer after each. */
export class Patience {
  readonly #tries: number;
  readonly #firstMs: number;
  readonly #longestMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #onRetry: (reason: string, ms: number) => void;
  #failures = 0;

  constructor(
    { tries = 5, firstMs = 1000, longestMs = 300_000 }: PatienceOptions,
    signal: AbortSignal | undefined,
    onRetry: (reason: string, ms: number) => void,
  ) {
    this.#tries = tries;
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
    this.#signal = signal;
    this.#onRetry = onRetry;
  }

  /** Something has arrived: earlier failures are forgotten. */
  progressed(): void {
    this.#failures = 0;
  }

  /**
   * Wait before another try.
   *
   * @param askedMs what the hub asked to wait, if it did
   * @throws the failure, where there were too many or the wait would be too long; SluiceError `aborted`
   */
  async failed(failure: SluiceError, askedMs?: number): Promise<void> {
    throwIfAborted(this.#signal);
    this.#failures++;
    if (this.#failures > this.#tries || (askedMs ?? 0) > this.#longestMs) throw failure;
    const ms = askedMs ?? Math.min(this.#firstMs * 2 ** (this.#failures - 1), this.#longestMs);
    this.#onRetry(failure.message, ms);
    await sleep(ms, undefined, this.#signal ? { signal: this.#signal } : {}).catch(() => {});
    throwIfAborted(this.#signal);
  }
}
