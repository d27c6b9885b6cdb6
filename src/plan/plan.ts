import { residentBudget } from "../engine/budget.ts";
import { allocateBuffers } from "../engine/buffers.ts";
import { BLOCK_POSITIONS, kvBlockBytes } from "../engine/kv-cache.ts";
import { type Rehearsal, rehearse } from "../engine/rehearsal.ts";
import type { KvType } from "../kernels/types.ts";
import type { Hyperparameters, ModelPlan } from "../model/types.ts";
import { mediumOf } from "../store/medium.ts";
import { DTYPES, type Dtype } from "../store/types.ts";
import { availableMemory } from "../stream/available-memory.ts";
import { type DiskSpeed, diskSpeed } from "../stream/disk-speed.ts";
import { ringBytes } from "../stream/ring.ts";
import { type PlannedFile, planFiles } from "../unpack/planned-file.ts";
import { keepsWeights } from "../unpack/tensor-dtype.ts";
import { promptSeconds, type SweepLoad, sweepBytes, tokenSeconds } from "./forecast.ts";
import type { Subject } from "./subject.ts";

/** Tokens of the prompt whose speed is foretold: as in `sluice bench`. */
export const PROMPT_ROWS = 128;

/** What is kept in memory, and how fast a token is then. */
export interface Forecast {
  /** "stream": only the ring; a share of the weights; what `--ram auto` takes; or all of them. */
  readonly budget: "stream" | "25%" | "50%" | "75%" | "auto" | "all";
  /** Bytes for weights, ring included: what `--ram` would be given. */
  readonly ramBytes: number;
  /** Null where the disk's speed is not known, or so small a budget is none. */
  readonly secondsPerToken: number | null;
}

export interface DtypePlan {
  readonly dtype: Dtype;
  /** Bytes of the cache's files, and of the weights that a sweep goes through. */
  readonly bytes: number;
  readonly sweepBytes: number;
  /** Whether every weight of the model file is kept as it is. */
  readonly exact: boolean;
  readonly ringBytes: number;
  readonly kvType: KvType;
  readonly forecasts: readonly Forecast[];
  /** Tokens of a prompt in a second, streaming. */
  readonly promptPerSecond: number | null;
  /** Seconds more for a token at the end of the context. */
  readonly attentionSeconds: number;
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

export interface PlanOptions {
  /** Folder of all caches; it need not be there. */
  readonly root: string;
  readonly threads: number;
  readonly contextLength?: number | undefined;
}

/** Context that is planned for where none is asked for, and the model's own is no shorter. */
const CONTEXT = 4096;
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
  { root, threads, contextLength }: PlanOptions,
  measurements: Measurements,
): Plan {
  const { model } = subject.plan;
  const context = contextLength ?? Math.min(CONTEXT, model.contextLength || CONTEXT);
  const kvBytesPerToken = {
    f32: kvBytes(model, "f32"),
    f16: kvBytes(model, "f16"),
    q8: kvBytes(model, "q8"),
  };
  const dtypes = [...measurements.rehearsals].map(([dtype, rehearsal]) =>
    planDtype(dtype, subject, rehearsal, measurements, context),
  );
  const { disk, diskFree, memoryFree } = measurements;
  return {
    ...{ model, root, threads, disk, diskFree, memoryFree, kvBytesPerToken, dtypes },
    parameters: countParameters(subject.plan),
    contextLength: context,
    workingBytes: workingBytes(model, threads),
    recommended: dtypes.filter(({ exact }) => exact).sort((a, b) => a.bytes - b.bytes)[0].dtype,
  };
}

/** As the engine chooses it. */
function kvTypeOf(dtype: Dtype): KvType {
  return dtype === "f32" ? "f32" : "f16";
}

/** All dtypes, but for `native` where it comes to the same as one that says what it is. */
export function usefulDtypes(plan: ModelPlan): Dtype[] {
  const made = (dtype: Dtype) =>
    planFiles(plan, dtype)
      .flatMap(({ tensors }) => tensors.map((tensor) => tensor.dtype))
      .join();
  const others = DTYPES.filter((dtype) => dtype !== "native");
  const native = made("native");
  return others.some((other) => made(other) === native) ? others : [...DTYPES];
}

function kvBytes(model: Hyperparameters, type: KvType): number {
  return kvBlockBytes(model, type) / BLOCK_POSITIONS;
}

function planDtype(
  dtype: Dtype,
  { plan, tokenizerBytes }: Subject,
  rehearsal: Rehearsal,
  { disk, memoryFree }: Measurements,
  context: number,
): DtypePlan {
  const { model } = plan;
  const files = planFiles(plan, dtype);
  const load = loadOf(model, files, rehearsal);
  const bytesPerSecond = disk && Math.max(disk.direct ?? 0, disk.buffered);
  const chunks = [...files.slice(1), ...(model.tiedOutput ? [files[0]] : [])].flatMap(({ chunks }) => chunks);
  const ring = ringBytes({ slotBytes: Math.max(...chunks.map(({ bytes }) => bytes)) });
  const all = sweepBytes(load);
  const kvType = kvTypeOf(dtype);
  const auto = residentBudget({
    ram: "auto",
    ringBytes: ring,
    weightBytes: all,
    kvBytes: kvBytes(model, kvType) * context,
    available: memoryFree,
  });
  const forecast = (budget: Forecast["budget"], residentBytes: number): Forecast => ({
    budget,
    ramBytes: ring + residentBytes,
    secondsPerToken:
      residentBytes < 0 || (bytesPerSecond === undefined && residentBytes < all)
        ? null
        : tokenSeconds(load, { residentBytes, disk: bytesPerSecond ?? Infinity, positions: 0 }),
  });
  return {
    dtype,
    bytes: files.reduce((sum, file) => sum + file.bytes, tokenizerBytes),
    sweepBytes: all,
    exact: files.every(({ tensors }) => tensors.every(keepsWeights)),
    ringBytes: ring,
    kvType,
    forecasts: [
      forecast("stream", 0),
      ...SHARES.map((share) =>
        forecast(`${share * 100}%` as Forecast["budget"], Math.round(all * share) - ring),
      ),
      forecast("auto", auto),
      forecast("all", all),
    ],
    promptPerSecond:
      bytesPerSecond === undefined
        ? null
        : PROMPT_ROWS / promptSeconds(load, { rows: PROMPT_ROWS, residentBytes: 0, disk: bytesPerSecond }),
    attentionSeconds: rehearsal.attention * context * load.layers,
  };
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

function countParameters({ embedding, layers, output }: ModelPlan): number {
  const tensors = [embedding, ...layers.flat(), ...output];
  return tensors.reduce((sum, { rows, columns }) => sum + rows * columns, 0);
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
