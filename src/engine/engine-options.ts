import { SluiceError } from "../errors.ts";
import { KV_TYPES } from "../kernels/kv-layout.ts";
import type { KvType } from "../kernels/types.ts";
import type { Observer } from "../timing/types.ts";
import type { Ram } from "./budget.ts";
import { MAXIMUM_ROWS } from "./buffers.ts";

export interface EngineOptions {
  /** Compute threads; default: one for each processor. */
  readonly threads?: number | undefined;
  /** Bytes of weights that may be in memory, or "auto"; default: only the ring that they stream through. */
  readonly ram?: Ram | undefined;
  /** Whether the budget is to hold a copy of the weights in fewer bits, to guess with (see engine/shadow.ts). */
  readonly shadow?: boolean | undefined;
  /** Bytes of memory that others are going to take, for the budget to leave alone. */
  readonly reservedBytes?: number | undefined;
  /**
   * Bytes of keys and values that may be in memory; those of further layers stream from a file beside the cache. Default:
   * all of them.
   */
  readonly kvRam?: number | undefined;
  /** How keys and values are kept; default: f32 for f32 weights, which are the exact mode, otherwise f16. q8: half. */
  readonly kvType?: KvType | undefined;
  /** Longest context that will be used. */
  readonly contextLength?: number | undefined;
  /** Sequences that may be generated at a time (see `Model.batch`); default: 1. */
  readonly parallel?: number | undefined;
  /**
   * Whether weights are read past the page cache, where the disk lets them; default: what is faster by a measurement of
   * the disk.
   */
  readonly direct?: boolean | undefined;
  /** Is told what takes time. */
  readonly observer?: Observer | undefined;
}

/** More threads than any machine has use for; each takes some megabytes. */
const MAXIMUM_THREADS = 256;

/** @throws SluiceError `bad-input` for what is no such option */
export function checkOptions({
  threads,
  kvType,
  ram,
  kvRam,
  contextLength,
  parallel = 1,
}: EngineOptions): void {
  const refuse = (name: string, value: unknown, wanted: string): never => {
    throw new SluiceError("bad-input", `${name} is ${String(value)}, but must be ${wanted}`);
  };
  if (!isWhole(threads) || threads < 1 || threads > MAXIMUM_THREADS)
    refuse("threads", threads, `a whole number from 1 to ${MAXIMUM_THREADS}`);
  if (!isWhole(parallel) || parallel < 1 || parallel > MAXIMUM_ROWS)
    refuse("parallel", parallel, `a whole number from 1 to ${MAXIMUM_ROWS}`);
  if (kvType === undefined || !KV_TYPES.includes(kvType))
    refuse("kvType", kvType, `one of ${KV_TYPES.join(", ")}`);
  if (ram !== undefined && ram !== "auto" && !(isWhole(ram) && ram >= 0))
    refuse("ram", ram, 'a number of bytes or "auto"');
  if (kvRam !== undefined && !(isWhole(kvRam) && kvRam >= 0)) refuse("kvRam", kvRam, "a number of bytes");
  if (contextLength !== undefined && !(isWhole(contextLength) && contextLength >= 1))
    refuse("contextLength", contextLength, "a whole number from 1 up");
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
