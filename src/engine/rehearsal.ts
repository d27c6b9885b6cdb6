import type { KvType } from "../kernels/types.ts";
import { compileKernels } from "../kernels/wasm.ts";
import type { Hyperparameters } from "../model/types.ts";
import { layoutChunks } from "../store/layout.ts";
import type { StoredFile, StoredTensor } from "../store/types.ts";
import { Control } from "../stream/control.ts";
import { StageTimes } from "../stream/stage-times.ts";
import { planSweep, type SweepPlan } from "../stream/sweep-plan.ts";
import { Arena } from "./arena.ts";
import { allocateBuffers, type Buffers, MAXIMUM_ROWS } from "./buffers.ts";
import type { ComputeData } from "./compute-worker.ts";
import { KvPool } from "./kv-cache.ts";
import type { Sequence } from "./kv-sequence.ts";
import { usualTiles } from "./tiles.ts";
import { Workers } from "./workers.ts";

/** A layer as a cache holds it. */
export interface RehearsedLayer {
  readonly tensors: readonly StoredTensor[];
  readonly kvType: KvType;
}

/** Seconds of arithmetic that a layer takes when its weights are in memory. */
export interface Rehearsal {
  /** One row, with nothing before it to attend to. */
  readonly decode: number;
  /** Each row of a long prompt. */
  readonly prefill: number;
  /** Each position that a row attends to. */
  readonly attention: number;
}

/** Weights are read over and over from so many bytes: more than any cache of a processor. */
const WEIGHTS_BYTES = 128 * 1024 * 1024;
/** Such bytes are sound weights in every dtype: no denormal numbers, which take many times as long, no infinities. */
const WEIGHT_BYTE = 0x3c;
const PREFILL_ROWS = 32;
const ATTENDED = 2048;
/** Each sweep is run again and again for so long, for engines compile better code by and by. */
const MINIMUM_MS = 30;
const MINIMUM_RUNS = 3;
const MAXIMUM_RUNS = 300;

/**
 * Let the threads compute layers of a model, with made-up weights: how long does the arithmetic take on this machine?
 * Takes some tens of milliseconds for each layer, and some threads.
 *
 * @param model whose first layer these are, in various dtypes
 * @param weightBytes of memory for the weights; default: 128 MiB
 */
export async function rehearse(
  model: Hyperparameters,
  layers: readonly RehearsedLayer[],
  threads: number,
  weightBytes = WEIGHTS_BYTES,
): Promise<Rehearsal[]> {
  const first = { ...model, layers: model.layers.slice(0, 1), tiedOutput: false };
  const arena = new Arena();
  const buffers = allocateBuffers(arena, first, threads);
  const plans = layers.map(({ tensors }) => planLayer(first, tensors));
  const bytes = Math.min(weightBytes, Math.max(...plans.map(layerBytes)));
  const weights = arena.allocate(bytes);
  new Uint8Array(arena.memory.buffer, weights, bytes).fill(WEIGHT_BYTE);
  const rehearsals: Rehearsal[] = [];
  for (const [index, { kvType }] of layers.entries()) {
    const plan = plans[index];
    const sequence = new KvPool(arena, first, kvType).createSequence(ATTENDED + 1);
    sequence.reserve(ATTENDED + 1);
    const stage = new Stage({
      ...{ model: first, plan, kvType, threads, arena, buffers, sequence },
      offsets: placeChunks(plan, weights, bytes),
    });
    try {
      const decode = await stage.seconds(1, 0);
      const late = await stage.seconds(1, ATTENDED);
      const prefill = await stage.seconds(PREFILL_ROWS, 0);
      rehearsals.push({
        decode,
        prefill: prefill / PREFILL_ROWS,
        attention: Math.max(0, late - decode) / ATTENDED,
      });
    } finally {
      await stage.close();
    }
  }
  return rehearsals;
}

function planLayer(model: Hyperparameters, tensors: readonly StoredTensor[]): SweepPlan {
  const chunks = layoutChunks(tensors).map(({ bytes }) => ({ offset: 0, stored: bytes, crc32: 0 }));
  const layer: StoredFile = { name: "", bytes: 0, tensors, chunks };
  const none: StoredFile = { name: "", bytes: 0, tensors: [], chunks: [] };
  return planSweep("", { model, embedding: none, layers: [layer], output: none });
}

function layerBytes({ chunks }: SweepPlan): number {
  return chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
}

/** One chunk behind the other, and from the beginning again where there is no more room. */
function placeChunks({ chunks }: SweepPlan, start: number, bytes: number): Float64Array {
  let used = 0;
  return Float64Array.from(chunks, (chunk) => {
    if (used + chunk.bytes > bytes) used = 0;
    used += chunk.bytes;
    return start + used - chunk.bytes;
  });
}

interface StageOptions extends Pick<ComputeData, "model" | "plan" | "kvType" | "threads" | "buffers"> {
  readonly arena: Arena;
  readonly sequence: Sequence;
  readonly offsets: Float64Array;
  readonly buffers: Buffers;
}

/** Compute threads, and a layer that is in memory. */
class Stage {
  readonly #options: StageOptions;
  readonly #control: Control;
  readonly #times = new StageTimes(1);
  readonly #workers: Workers;
  #sweeps = 0;

  constructor(options: StageOptions) {
    const { arena, offsets, sequence, ...shared } = options;
    const { plan, threads } = options;
    this.#options = options;
    this.#control = new Control(threads);
    const data = {
      ...shared,
      ring: { shared: new SharedArrayBuffer(0), start: 0, slots: 1, slotBytes: 0, direct: false },
      residence: {
        homes: new Int8Array(plan.chunks.length),
        offsets,
        buffers: [],
        loaded: new Uint8Array(new SharedArrayBuffer(plan.chunks.length)).fill(1),
      },
      staging: 0,
      memory: arena.memory,
      kernels: compileKernels(),
      control: this.#control.shared,
      times: this.#times.shared,
      stages: 1,
      origin: performance.timeOrigin,
    };
    const compute = Array.from({ length: threads }, (_, thread): ComputeData => ({ ...data, thread }));
    this.#workers = new Workers(this.#control, undefined, compute);
  }

  /** Seconds of a sweep of so many rows, after so many positions: the fastest of several, as if nothing else ran. */
  async seconds(rows: number, position: number): Promise<number> {
    let [runs, sum, best] = [0, 0, Number.POSITIVE_INFINITY];
    while (runs < MINIMUM_RUNS || (sum < MINIMUM_MS && runs < MAXIMUM_RUNS)) {
      const ms = await this.#sweep(rows, position);
      best = Math.min(best, ms);
      sum += ms;
      runs++;
    }
    return best / 1000;
  }

  async close(): Promise<void> {
    await this.#workers.close();
  }

  async #sweep(rows: number, position: number): Promise<number> {
    const { arena, buffers, sequence, model, plan } = this.#options;
    arena.floats(buffers.x, rows * model.width).fill(1);
    arena.words(buffers.rowTable, 2 * MAXIMUM_ROWS).forEach((_, word, table) => {
      table[word] = word % 2 === 0 ? sequence.table : position + (word - 1) / 2;
    });
    if (!this.#workers.running) await this.#workers.start(() => this.#control.reset());
    for (const _ of plan.chunks) this.#control.produce();
    this.#control.postJob({ sweep: this.#sweeps, rows, asked: 0, lens: 0, ...usualTiles(rows, 0) });
    await this.#workers.done();
    return this.#times.take(this.#sweeps++).stages[0].computeMs;
  }
}
