import { residentBudget } from "../engine/budget.ts";
import { allocateBuffers } from "../engine/buffers.ts";
import { BLOCK_POSITIONS } from "../engine/kv-block.ts";
import { kvMemoryBytes, splitKv } from "../engine/kv-split.ts";
import { type Rehearsal, rehearse } from "../engine/rehearsal.ts";
import { SluiceError } from "../errors.ts";
import type { KvType } from "../kernels/types.ts";
import type { Hyperparameters } from "../model/types.ts";
import { mediumOf } from "../store/medium.ts";
import type { Dtype } from "../store/types.ts";
import { availableMemory } from "../stream/available-memory.ts";
import { type DiskSpeed, diskSpeed, WORTH_MEASURING_BYTES } from "../stream/disk-speed.ts";
import { type PlannedFile, planFiles } from "../unpack/planned-file.ts";
import { guessedSeconds, promptSeconds, type SweepLoad, tokenSeconds } from "./forecast.ts";
import {
  countParameters,
  type DtypeNeeds,
  kvBytes,
  kvTypeOf,
  needsOf,
  recommend,
  usefulDtypes,
  usualContext,
} from "./needs.ts";
import type { Subject } from "./subject.ts";

/** Tokens of the prompt whose speed is foretold: as in `sluice bench`. */
export const PROMPT_ROWS = 128;

/** Share of guessed tokens that are taken to hold: what a text brings that repeats itself now and then. */
export const FORETOLD_ACCEPTANCE = 0.6;

/** What is kept in memory, and how fast a token is then. */
export interface Forecast {
  /** "stream": only the ring; a share of the weights; what `--ram auto` takes; or all of them. */
  readonly budget: "stream" | "25%" | "50%" | "75%" | "auto" | "all";
  /** Bytes for weights, ring included: what `--ram` would be given. */
  readonly ramBytes: number;
  /** Null where the disk's speed is not known, or so small a budget is none. */
  readonly secondsPerToken: number | null;
  /** The same where tokens are guessed ahead at no cost, and `FORETOLD_ACCEPTANCE` of them hold. */
  readonly secondsGuessing: number | null;
}

export interface DtypePlan extends Omit<DtypeNeeds, "files"> {
  readonly forecasts: readonly Forecast[];
  /** Tokens of a prompt in a second, streaming. */
  readonly promptPerSecond: number | null;
  /** Seconds more for a token at the end of the context, in which keys and values that do not stay are read. */
  readonly attentionSeconds: number;
  /** With a budget for the KV cache; null where that is less than one layer's. */
  readonly kvSplit?: KvPlan | null;
}

/** What a budget for the KV cache makes of it. */
export interface KvPlan {
  /** Layers whose keys and values stay in memory. */
  readonly residentLayers: number;
  /** Bytes in memory when the context is full, and bytes that are read for each token then. */
  readonly memoryBytes: number;
  readonly streamedBytes: number;
}

export interface Plan {
  readonly model: Hyperparameters;
  readonly parameters: number;
  readonly root: string;
  readonly threads: number;
  /** Bytes that are free on the disk of the root, and in memory. */
  readonly diskFree: number;
  readonly memoryFree: number;
  readonly disk: DiskSpeed | undefined;
  /** Positions of the context that is planned for; bytes of KV cache for each. */
  readonly contextLength: number;
  readonly kvBytesPerToken: Readonly<Record<KvType, number>>;
  /** Bytes of activations, when prompts are long. */
  readonly workingBytes: number;
  readonly dtypes: readonly DtypePlan[];
  /** The exact dtype of fewest bytes. */
  readonly recommended: Dtype;
}

/**
 * Whether the speeds of a plan mean anything. A sweep over less takes milliseconds, of which most is what threads wait for
 * each other: what a measurement of some milliseconds finds then differs from one time to the next.
 */
export function isForetellable({ dtypes }: Pick<Plan, "dtypes">): boolean {
  return dtypes.some(({ sweepBytes }) => sweepBytes >= WORTH_MEASURING_BYTES);
}

export interface PlanOptions {
  /** Folder of all caches; it need not be there. */
  readonly root: string;
  readonly threads: number;
  readonly contextLength?: number | undefined;
  /** Bytes of keys and values that may be in memory; default: all of them. */
  readonly kvRam?: number | undefined;
}

const SHARES = [0.25, 0.5, 0.75] as const;

/** What a machine was found to be. */
export interface Measurements {
  readonly disk: DiskSpeed | undefined;
  /** Bytes that are free on the disk of the root, and in memory. */
  readonly diskFree: number;
  readonly memoryFree: number;
  /** Of the model's first layer in each dtype that `usefulDtypes` gives. */
  readonly rehearsals: ReadonlyMap<Dtype, Rehearsal>;
}

/** What a model needs in each dtype, and how fast it will be here. Takes about a second: see `measureFor`. */
export async function makePlan(subject: Subject, options: PlanOptions): Promise<Plan> {
  return planWith(subject, options, await measureFor(subject, options));
}

/** Measure disk and arithmetic. Nothing is written but the remembered speed of the disk. */
export async function measureFor(
  { plan, sample }: Subject,
  { root, threads }: Pick<PlanOptions, "root" | "threads">,
): Promise<Measurements> {
  const dtypes = usefulDtypes(plan);
  const layers = dtypes.map((dtype) => ({
    tensors: planFiles(plan, dtype)[1].tensors,
    kvType: kvTypeOf(dtype),
  }));
  const disk = diskSpeed(root, { again: true, sample });
  const rehearsals = await rehearse(plan.model, layers, threads);
  return {
    disk,
    diskFree: mediumOf(root).freeBytes,
    memoryFree: availableMemory(),
    rehearsals: new Map(dtypes.map((dtype, index) => [dtype, rehearsals[index]])),
  };
}

export function planWith(
  subject: Subject,
  { root, threads, contextLength, kvRam }: PlanOptions,
  measurements: Measurements,
): Plan {
  const { model } = subject.plan;
  const context = contextLength ?? usualContext(model);
  const kvBytesPerToken = {
    f32: kvBytes(model, "f32"),
    f16: kvBytes(model, "f16"),
    q8: kvBytes(model, "q8"),
  };
  const dtypes = [...measurements.rehearsals].map(([dtype, rehearsal]) =>
    planDtype(needsOf(subject, dtype), subject, rehearsal, measurements, { context, kvRam }),
  );
  const { disk, diskFree, memoryFree } = measurements;
  return {
    ...{ model, root, threads, disk, diskFree, memoryFree, kvBytesPerToken, dtypes },
    parameters: countParameters(subject.plan),
    contextLength: context,
    workingBytes: workingBytes(model, threads),
    recommended: recommend(dtypes),
  };
}

function planDtype(
  needs: DtypeNeeds,
  { plan: { model } }: Subject,
  rehearsal: Rehearsal,
  { disk, memoryFree }: Measurements,
  { context, kvRam }: { readonly context: number; readonly kvRam: number | undefined },
): DtypePlan {
  const { files, ringBytes, kvType, ...sizes } = needs;
  const load = loadOf(model, files, rehearsal);
  const bytesPerSecond = disk && Math.max(disk.direct ?? 0, disk.buffered);
  const all = needs.sweepBytes;
  const split = kvRam === undefined ? undefined : planKv(model, kvType, kvRam, context);
  const auto = residentBudget({
    ram: "auto",
    ringBytes,
    weightBytes: all,
    kvBytes: split?.memoryBytes ?? kvBytes(model, kvType) * context,
    available: memoryFree,
  });
  const forecast = (budget: Forecast["budget"], residentBytes: number): Forecast => {
    const ramBytes = ringBytes + residentBytes;
    if (residentBytes < 0 || (bytesPerSecond === undefined && residentBytes < all))
      return { budget, ramBytes, secondsPerToken: null, secondsGuessing: null };
    const given = { residentBytes, disk: bytesPerSecond ?? Number.POSITIVE_INFINITY, positions: 0 };
    return {
      ...{ budget, ramBytes, secondsPerToken: tokenSeconds(load, given) },
      secondsGuessing: guessedSeconds(load, { ...given, acceptance: FORETOLD_ACCEPTANCE }),
    };
  };
  return {
    ...sizes,
    ringBytes,
    kvType,
    forecasts: [
      forecast("stream", 0),
      ...SHARES.map((share) =>
        forecast(`${share * 100}%` as Forecast["budget"], Math.round(all * share) - ringBytes),
      ),
      forecast("auto", auto),
      forecast("all", all),
    ],
    promptPerSecond:
      bytesPerSecond === undefined
        ? null
        : PROMPT_ROWS / promptSeconds(load, { rows: PROMPT_ROWS, residentBytes: 0, disk: bytesPerSecond }),
    attentionSeconds:
      rehearsal.attention * context * load.layers +
      (split?.streamedBytes ?? 0) / (bytesPerSecond ?? Infinity),
    ...(split !== undefined && { kvSplit: split }),
  };
}

function planKv(model: Hyperparameters, kvType: KvType, kvRam: number, context: number): KvPlan | null {
  try {
    const split = splitKv(model, kvType, kvRam, context);
    const { residentLayers, streamedBytes } = split;
    const blocks = Math.ceil(context / BLOCK_POSITIONS);
    return {
      residentLayers,
      memoryBytes: kvMemoryBytes(split, context),
      streamedBytes: blocks * streamedBytes,
    };
  } catch (error) {
    if (error instanceof SluiceError) return null;
    throw error;
  }
}

function loadOf(model: Hyperparameters, files: readonly PlannedFile[], rehearsal: Rehearsal): SweepLoad {
  const [embedding, ...others] = files.map(({ bytes }) => bytes);
  const output = others.pop()!;
  return {
    layers: others.length,
    layerBytes: others[0],
    layersBytes: others.reduce((sum, bytes) => sum + bytes, 0),
    outputBytes: output + (model.tiedOutput ? embedding : 0),
    rehearsal,
  };
}

function workingBytes(model: Hyperparameters, threads: number): number {
  let bytes = 0;
  const counter = {
    allocate(size: number): number {
      bytes += size;
      return 0;
    },
  };
  allocateBuffers(counter, model, threads);
  return bytes;
}
