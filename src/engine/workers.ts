import { Worker } from "node:worker_threads";
import { SluiceError } from "../errors.ts";
import type { Control } from "../stream/control.ts";
import type { ReaderData } from "../stream/reader-worker.ts";
import { type Failure, fromFailure, toFailure, type WorkerMessage } from "../stream/worker-message.ts";
import type { ComputeData } from "./compute-worker.ts";

const READER = new URL("../stream/reader-worker.js", import.meta.url);
const COMPUTE = new URL("./compute-worker.js", import.meta.url);

/** Without the flags of the process: some of them (--input-type, --test) make no sense for a thread. */
function startWorker(script: URL, workerData: ReaderData | ComputeData): Worker {
  return new Worker(script, { workerData, execArgv: [] });
}

/**
 * The threads of an engine. They run until something stops them (an abort, a failure, `close`); then all of them
 * unwind, and can be started again. While idle they do not keep the process alive.
 */
export class Workers {
  readonly #control: Control;
  readonly #workers: readonly Worker[];
  /** Threads that have not unwound yet; 0: all wait to be started. */
  #active = 0;
  #failure: Failure | undefined;
  /** A thread that died cannot be started again. */
  #dead = false;
  #settle: ((error?: Error) => void) | undefined;
  #allStopped: (() => void) | undefined;

  /** @param reader undefined where all weights are in their places already */
  constructor(control: Control, reader: ReaderData | undefined, compute: readonly ComputeData[]) {
    this.#control = control;
    this.#workers = [
      ...(reader === undefined ? [] : [startWorker(READER, reader)]),
      ...compute.map((data) => startWorker(COMPUTE, data)),
    ];
    for (const worker of this.#workers) {
      worker.unref();
      worker.on("message", (message: WorkerMessage) => this.#receive(message));
      worker.on("error", (error) => {
        this.#dead = true;
        this.#receive({ stopped: true, failure: toFailure(error) });
      });
    }
  }

  /** Whether sweeps can be asked for; otherwise `start` first. */
  get running(): boolean {
    return this.#active > 0 && !this.#control.stopped;
  }

  /** Wait until all threads have unwound, then let them begin anew; `reset` puts the shared words in order before. */
  async start(reset: () => void): Promise<void> {
    if (this.#active > 0)
      await this.#referenced(
        new Promise<void>((resolve) => {
          this.#allStopped = resolve;
        }),
      );
    if (this.#dead) throw this.#error();
    reset();
    this.#failure = undefined;
    this.#active = this.#workers.length;
    for (const worker of this.#workers) worker.postMessage("start");
  }

  /** Resolves when the sweep at work is done; rejects when all threads have unwound without having done it. */
  async done(): Promise<void> {
    await this.#referenced(
      new Promise<void>((resolve, reject) => {
        this.#settle = (error) => (error ? reject(error) : resolve());
      }),
    );
  }

  /** End the threads; a sweep that is at work ends with an error. */
  async close(): Promise<void> {
    this.#dead = true;
    this.#control.stop();
    this.#settle?.(CLOSED());
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
    this.#allStopped?.();
  }

  /** Keep the process alive while something is waited for. */
  async #referenced(waited: Promise<void>): Promise<void> {
    for (const worker of this.#workers) worker.ref();
    await waited.finally(() => {
      for (const worker of this.#workers) worker.unref();
    });
  }

  #receive(message: WorkerMessage): void {
    if ("done" in message) {
      this.#settle?.();
      return;
    }
    this.#active--;
    this.#failure ??= message.failure;
    if (message.failure !== undefined) this.#control.stop();
    if (this.#active > 0) return;
    this.#settle?.(this.#failure === undefined ? STOPPED() : fromFailure(this.#failure));
    this.#allStopped?.();
  }

  #error(): SluiceError {
    return this.#failure === undefined ? CLOSED() : fromFailure(this.#failure);
  }
}

const STOPPED = () => new SluiceError("aborted", "the sweep was stopped");
const CLOSED = () => new SluiceError("aborted", "the model was closed");
