import { closeSync, fsyncSync, ftruncateSync, openSync, rmSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { SluiceError, throwIfAborted } from "../errors.ts";
import { renameDurably } from "../store/atomic.ts";
import type { Cache } from "../store/cache.ts";
import { ioError } from "../store/io-error.ts";
import { acquireLock } from "../store/lock.ts";
import { PARTIAL } from "../store/names.ts";
import { type ShadowDtype, shadowFileName, shadowWeights } from "../store/shadow.ts";
import { planSweep, type SweepPlan } from "../stream/sweep-plan.ts";
import { fromFailure } from "../stream/worker-message.ts";
import { checkFree } from "../unpack/space.ts";
import type { ShadowJob, ShadowMessage } from "./shadow-worker.ts";

const WORKER = new URL("./shadow-worker.js", import.meta.url);

export interface ShadowOptions {
  readonly threads?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told of the bytes that are made, and of all, where the shadow has to be made. */
  readonly onShadow?: ((done: number, total: number) => void) | undefined;
}

/**
 * Make the shadow of a cache, where it is not there yet. It appears when it is complete.
 *
 * @throws SluiceError `no-space`, `io`, `bad-cache`, `aborted`, `locked`
 */
export async function ensureShadow(
  cache: Cache,
  dtype: ShadowDtype,
  { threads = availableParallelism(), signal, onShadow }: ShadowOptions = {},
): Promise<void> {
  const path = join(cache.folder, shadowFileName(dtype));
  const to = planSweep(cache.folder, shadowWeights(cache.manifest, dtype));
  const total = to.chunks.reduce((sum, { bytes }) => sum + bytes, 0);
  const isThere = () => statSync(path, { throwIfNoEntry: false })?.size === total;
  if (isThere()) return;
  const release = await acquireLock(cache.folder, { signal, doing: "making a copy to guess with in" });
  try {
    if (isThere()) return;
    checkFree(cache.folder, total, "the copy to guess with");
    allocate(path + PARTIAL, total);
    const job = { from: planSweep(cache.folder, cache.manifest), to, path: path + PARTIAL };
    await makeStages(job, threads, { signal, onShadow });
    seal(path);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw ioError(error, "write", path);
    throw error;
  } finally {
    rmSync(path + PARTIAL, { force: true });
    release();
  }
}

/** Each thread takes the next stage as it is done with one. */
async function makeStages(
  job: ShadowJob,
  threads: number,
  { signal, onShadow }: Pick<ShadowOptions, "signal" | "onShadow">,
): Promise<void> {
  const sizes = stageBytes(job.to);
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
  let next = 0;
  let done = 0;
  const work = async () => {
    const worker = new Worker(WORKER, { workerData: job, execArgv: [] });
    const stop = () => void worker.terminate();
    signal?.addEventListener("abort", stop);
    try {
      while (next < sizes.length) {
        const stage = next++;
        const { failure } = await ask(worker, stage);
        if (failure) throw fromFailure(failure);
        done += sizes[stage];
        onShadow?.(done, total);
      }
    } finally {
      signal?.removeEventListener("abort", stop);
      next = sizes.length;
      await worker.terminate();
    }
  };
  const results = await Promise.allSettled(Array.from({ length: Math.min(threads, sizes.length) }, work));
  throwIfAborted(signal);
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

/** @throws what the thread dies of */
function ask(worker: Worker, stage: number): Promise<ShadowMessage> {
  return new Promise((resolve, reject) => {
    const settled = <T>(settle: (value: T) => void) => {
      return (value: T) => {
        for (const event of ["message", "error", "exit"]) worker.removeAllListeners(event);
        settle(value);
      };
    };
    worker.once("message", settled(resolve));
    worker.once("error", settled(reject));
    worker.once(
      "exit",
      settled((code: number) => reject(new Error(`a thread ended with code ${code}`))),
    );
    worker.postMessage(stage);
  });
}

function stageBytes({ chunks }: SweepPlan): number[] {
  const sizes: number[] = [];
  for (const { stage, bytes } of chunks) sizes[stage] = (sizes[stage] ?? 0) + bytes;
  return sizes;
}

function allocate(path: string, bytes: number): void {
  const file = openSync(path, "w");
  try {
    ftruncateSync(file, bytes);
  } finally {
    closeSync(file);
  }
}

function seal(path: string): void {
  const file = openSync(path + PARTIAL, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameDurably(path + PARTIAL, path);
}
