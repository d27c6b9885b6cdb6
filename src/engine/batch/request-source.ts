import { setTimeout as sleep } from "node:timers/promises";
import { throwIfAborted } from "../../errors.ts";

/** How long a sweep waits for a request, while there is room for one: reading a file takes less. */
const PATIENCE_MS = 5;

/** Requests as they come, which nobody has to wait for. */
export class RequestSource<Request> {
  readonly #iterator: AsyncIterator<Request> | Iterator<Request>;
  #next: Promise<void> | undefined;
  #ready: Request[] = [];
  #failure: { readonly error: unknown } | undefined;
  #ended = false;

  constructor(requests: AsyncIterable<Request> | Iterable<Request>) {
    this.#iterator =
      Symbol.asyncIterator in requests ? requests[Symbol.asyncIterator]() : requests[Symbol.iterator]();
  }

  /** Whether there will be no more. */
  get ended(): boolean {
    return this.#ended && this.#ready.length === 0;
  }

  /**
   * The next request; undefined where there are no more, or where it is not there yet and `wait` is false.
   *
   * @throws what the source throws, or SluiceError `aborted`
   */
  async take(wait: boolean, signal: AbortSignal | undefined): Promise<Request | undefined> {
    if (this.#ready.length === 0 && !this.#ended) {
      this.#next ??= this.#read();
      if (wait) await unlessAborted(this.#next, signal);
      else await Promise.race([this.#next, sleep(PATIENCE_MS)]);
      throwIfAborted(signal);
    }
    if (this.#failure) throw this.#failure.error;
    return this.#ready.shift();
  }

  /** Tell the source that nobody wants more. */
  async close(): Promise<void> {
    if (this.#ended || this.#next) return;
    this.#ended = true;
    await this.#iterator.return?.();
  }

  async #read(): Promise<void> {
    try {
      const { done, value } = await this.#iterator.next();
      if (done) this.#ended = true;
      else this.#ready.push(value);
    } catch (error) {
      this.#ended = true;
      this.#failure = { error };
    } finally {
      this.#next = undefined;
    }
  }
}

async function unlessAborted(next: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  let stop = () => {};
  const aborted = new Promise<void>((resolve) => {
    stop = resolve;
  });
  signal?.addEventListener("abort", stop);
  if (!signal?.aborted) await Promise.race([next, aborted]);
  signal?.removeEventListener("abort", stop);
}
