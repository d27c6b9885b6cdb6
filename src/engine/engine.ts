import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { SluiceError, throwIfAborted } from "../errors.ts";
import { KV_TYPES } from "../kernels/kv-layout.ts";
import type { Address, KvType } from "../kernels/types.ts";
import { compileKernels } from "../kernels/wasm.ts";
import type { Cache } from "../store/cache.ts";
import { availableMemory } from "../stream/available-memory.ts";
import { Control } from "../stream/control.ts";
import { prefersDirect } from "../stream/disk-speed.ts";
import { Lanes } from "../stream/lanes.ts";
import type { ReaderData } from "../stream/reader-worker.ts";
import { planResidence, residentBytes } from "../stream/residence.ts";
import { createRing } from "../stream/ring.ts";
import { RowReader } from "../stream/row-reader.ts";
import { StageTimes } from "../stream/stage-times.ts";
import { StreamProgress } from "../stream/stream-progress.ts";
import { planSweep } from "../stream/sweep-plan.ts";
import type { Observer, StageTiming, SweepKind, SweepTiming } from "../timing/types.ts";
import { Arena, MEMORY_BYTES } from "./arena.ts";
import { OVERHEAD_BYTES, type Ram, residentBudget } from "./budget.ts";
import { allocateBuffers, type Buffers, MAXIMUM_ASKED, MAXIMUM_ROWS } from "./buffers.ts";
import type { ComputeData } from "./compute-worker.ts";
import { BLOCK_POSITIONS, KvPool, kvBlockBytes, type Sequence } from "./kv-cache.ts";
import { lensBytes, lensResult } from "./lens.ts";
import { fillRopeRow, ropeFrequencies } from "./rope-table.ts";
import type { TokenLogprob } from "./types.ts";
import { Workers } from "./workers.ts";

/** One token of one sequence on its way through a sweep. */
export interface Row {
  readonly sequence: Sequence;
  readonly position: number;
  readonly token: number;
  /** Whether the logits after this token are wanted. */
  readonly logits: boolean;
}

export interface SweepOptions {
  readonly signal?: AbortSignal | undefined;
  /** What the observer is to be told that it is; absent: nothing. */
  readonly kind?: SweepKind | undefined;
  /** Called about ten times a second with the layer that the sweep is at. */
  readonly onStage?: ((layer: number) => void) | undefined;
  /** Look at the rows that ask after every layer, not only after the last. */
  readonly lens?: boolean | undefined;
}

export interface SweepResult {
  /** For each row that asked, in order: (vocabulary). Copies: they stay valid. */
  readonly logits: readonly Float32Array[];
  /** With `lens`: for each row that asked the most probable tokens, after the embedding and then after each layer. */
  readonly lens?: readonly (readonly (readonly TokenLogprob[])[])[];
  readonly timing: SweepTiming;
}

export interface EngineOptions {
  /** Compute threads; default: one for each processor. */
  readonly threads?: number | undefined;
  /** Bytes of weights that may be in memory, or "auto"; default: only the ring that they stream through. */
  readonly ram?: Ram | undefined;
  /** How keys and values are kept; default: f32 for f32 weights, which are the exact mode, otherwise f16. q8: half. */
  readonly kvType?: KvType | undefined;
  /** Longest context that will be used. */
  readonly contextLength?: number | undefined;
  /**
   * Whether weights are read past the page cache, where the disk lets them; default: what is faster by a measurement of
   * the disk.
   */
  readonly direct?: boolean | undefined;
  /** Is told what takes time. */
  readonly observer?: Observer | undefined;
}

const PROGRESS_MS = 100;
/** More threads than any machine has use for; each takes some megabytes. */
const MAXIMUM_THREADS = 256;
/** Positions of KV cache that a budget leaves room for, where the context is not shorter. */
const RESERVED_POSITIONS = 4096;

/**
 * The weights of one model, streaming, and the threads that compute with them. One sweep at a time; any number of
 * sequences. Close it when done.
 */
export class Engine {
  readonly maximumRows = MAXIMUM_ROWS;
  readonly maximumAsked = MAXIMUM_ASKED;
  readonly #cache: Cache;
  readonly #arena: Arena;
  readonly #buffers: Buffers;
  readonly #kv: KvPool;
  readonly #control: Control;
  readonly #times: StageTimes;
  readonly #lanes: Lanes;
  readonly #embedding: RowReader;
  readonly #frequencies: Float64Array;
  readonly #workers: Workers;
  /** Bytes of weights in memory: those passing through, and those that stay. */
  readonly ringBytes: number;
  readonly residentBytes: number;
  /** Bytes that every sweep with logits reads from disk, and whether past the page cache. */
  readonly streamedBytes: number;
  readonly direct: boolean;
  readonly threads: number;
  readonly kvType: KvType;
  /** Where the threads are, for whoever watches them. */
  readonly progress: StreamProgress;
  readonly observer: Observer | undefined;
  /** Sweeps since the workers were started. */
  #sweeps = 0;
  /** The sweep that was asked for last: sweeps wait for each other. */
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;
  /** Room for a lens, once one was asked for. */
  #lens: Address = 0;

  constructor(cache: Cache, options: EngineOptions = {}) {
    const { manifest, folder } = cache;
    const { model } = manifest;
    const { threads = availableParallelism(), kvType = manifest.dtype === "f32" ? "f32" : "f16" } = options;
    checkOptions({ ...options, threads, kvType });
    const plan = planSweep(folder, manifest);
    const stages = model.layers.length + 1;
    const ring = createRing(plan, plan.paths[0]);
    this.ringBytes = ring.shared.byteLength;
    this.threads = threads;
    this.kvType = kvType;
    this.observer = options.observer;
    this.#cache = cache;
    this.#arena = new Arena();
    this.#buffers = allocateBuffers(this.#arena, model, threads);
    this.#kv = new KvPool(this.#arena, model, kvType);
    const staging = this.#arena.allocate(threads * plan.slotBytes);

    const positions = Math.min(options.contextLength ?? RESERVED_POSITIONS, RESERVED_POSITIONS);
    const kvBytes = Math.ceil(positions / BLOCK_POSITIONS) * kvBlockBytes(model, kvType);
    const available = availableMemory();
    const budget = residentBudget({
      ram: options.ram,
      ringBytes: this.ringBytes,
      weightBytes: plan.chunks.reduce((sum, chunk) => sum + chunk.bytes, 0),
      kvBytes,
      available,
    });
    const residence = planResidence(plan, budget, (bytes) =>
      this.#arena.allocateBelow(MEMORY_BYTES - kvBytes, bytes),
    );
    const { resident, streamed } = residentBytes(plan, residence);
    this.residentBytes = resident;
    this.streamedBytes = streamed;
    // What fits into memory beside all else, the page cache keeps without being asked.
    const cacheable = streamed + resident + kvBytes + OVERHEAD_BYTES < available;
    const { direct = !cacheable && prefersDirect(dirname(folder), ring, streamed) } = options;
    this.direct = direct && ring.direct;

    this.#control = new Control(threads);
    this.progress = new StreamProgress(plan, residence, this.#control);
    this.#times = new StageTimes(stages);
    this.#lanes = new Lanes(stages, threads);
    this.#embedding = new RowReader(folder, manifest.embedding);
    this.#frequencies = ropeFrequencies(model.rope);
    const shared = {
      plan,
      ring,
      residence,
      direct: this.direct,
      memory: this.#arena.memory,
      threads,
      control: this.#control.shared,
      times: this.#times.shared,
      lanes: this.#lanes.shared,
      stages,
      origin: performance.timeOrigin,
    };
    const compute = {
      model,
      kvType,
      buffers: this.#buffers,
      kernels: compileKernels(),
    } as const;
    this.#workers = new Workers(
      this.#control,
      shared satisfies ReaderData,
      Array.from({ length: threads }, (_, thread): ComputeData => {
        return { ...shared, ...compute, thread, staging: staging + thread * plan.slotBytes };
      }),
    );
  }

  createSequence(contextLength: number): Sequence {
    return this.#kv.createSequence(contextLength);
  }

  /**
   * Run all layers over these rows. Rows of a sequence must come in the order of their positions and continue what
   * is in its KV cache. Sweeps that are asked for while one is running wait for their turn.
   *
   * @throws SluiceError `aborted` within a chunk of the signal; the rows' positions must be computed again
   */
  sweep(rows: readonly Row[], options: SweepOptions = {}): Promise<SweepResult> {
    if (rows.length > MAXIMUM_ROWS) throw new RangeError(`${rows.length} rows, ${MAXIMUM_ROWS} at most`);
    const sweep = this.#last.then(() => this.#sweep(rows, options));
    this.#last = sweep.catch(() => {});
    return sweep;
  }

  async #sweep(
    rows: readonly Row[],
    { signal, kind, onStage, lens = false }: SweepOptions,
  ): Promise<SweepResult> {
    throwIfAborted(signal);
    if (this.#closed) throw new SluiceError("aborted", "the model was closed");
    const start = performance.now();
    const abort = () => this.#control.stop();
    // What a callback throws must not end the process: it ends the sweep.
    let thrown: { readonly error: unknown } | undefined;
    const progress =
      onStage &&
      setInterval(() => {
        try {
          onStage(this.#control.stage);
        } catch (error) {
          thrown ??= { error };
          abort();
        }
      }, PROGRESS_MS);
    try {
      const embedding = this.#fill(rows, start);
      const asked = rows.filter((row) => row.logits).length;
      const filled = performance.now();
      signal?.addEventListener("abort", abort);
      if (!this.#workers.running) await this.#workers.start(() => this.#reset());
      throwIfAborted(signal);
      this.progress.begin(asked);
      const { model } = this.#cache.manifest;
      if (lens && this.#lens === 0) this.#lens = this.#arena.allocate(lensBytes(model, this.threads));
      this.#control.postJob(this.#sweeps, { rows: rows.length, asked, lens: lens ? this.#lens : 0 });
      await this.#workers.done();
      const logits = this.#takeLogits(asked);
      const observer = kind === undefined ? undefined : this.observer;
      const lanes = observer ? this.#lanes.take(this.#sweeps) : this.#lanes.drop(this.#sweeps);
      const { stages, began, ended } = this.#times.take(this.#sweeps++);
      const end = performance.now();
      const timing = {
        startMs: start,
        rows: rows.length,
        ms: end - start,
        embedding,
        layers: stages.slice(0, -1),
        output: stages[stages.length - 1],
        // Clocks of threads agree to some microseconds only.
        handoverMs: Math.max(0, began - filled + end - ended),
      };
      if (lanes) observer?.sweep(kind!, timing, lanes);
      return {
        logits,
        ...(lens && { lens: lensResult(model, this.threads, asked, this.#arena.memory.buffer, this.#lens) }),
        timing,
      };
    } catch (error) {
      if (kind !== undefined) this.observer?.span(kind, start, performance.now());
      throwIfAborted(signal);
      throw thrown === undefined ? error : thrown.error;
    } finally {
      signal?.removeEventListener("abort", abort);
      clearInterval(progress);
    }
  }

  /** Stop the threads and close the files. A sweep that is running ends with an `aborted` error. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#workers.close();
    this.#embedding.close();
  }

  #reset(): void {
    this.progress.reset();
    this.#control.reset();
    this.#times.reset();
    this.#lanes.reset();
    this.#sweeps = 0;
  }

  /** Put rows, embeddings and rope angles where the threads look for them. @param start when the sweep began */
  #fill(rows: readonly Row[], start: number): StageTiming {
    const { model } = this.#cache.manifest;
    for (const { sequence, position, token } of rows) {
      if (!Number.isInteger(token) || token < 0 || token >= model.vocabulary)
        throw new SluiceError("bad-input", `token ${token} is not in the vocabulary of ${model.vocabulary}`);
      sequence.reserve(position + 1);
    }
    const buffers = this.#buffers;
    const table = this.#arena.words(buffers.rowTable, 2 * rows.length);
    const asked = this.#arena.words(buffers.askedTable, MAXIMUM_ROWS);
    let askedRows = 0;
    let readMs = 0;
    for (const [index, { sequence, position, token, logits }] of rows.entries()) {
      table[2 * index] = sequence.table;
      table[2 * index + 1] = position;
      if (logits) asked[askedRows++] = index;
      const { dimensions } = model.rope;
      const ropeRow = buffers.ropeTable + index * dimensions * 4;
      fillRopeRow(this.#frequencies, position, this.#arena.floats(ropeRow, dimensions));
      const readStart = performance.now();
      this.#embedding.read(token, this.#arena.floats(buffers.x + index * model.width * 4, model.width));
      readMs += performance.now() - readStart;
    }
    if (askedRows > MAXIMUM_ASKED)
      throw new RangeError(`${askedRows} rows want logits, ${MAXIMUM_ASKED} at most`);
    const bytes = rows.length * this.#embedding.rowBytes;
    return { bytes, readMs, waitMs: readMs, computeMs: performance.now() - start - readMs };
  }

  #takeLogits(asked: number): Float32Array[] {
    const { logits, logitsStride } = this.#buffers;
    const { vocabulary } = this.#cache.manifest.model;
    return Array.from({ length: asked }, (_, index) =>
      this.#arena.floats(logits + index * logitsStride * 4, vocabulary).slice(),
    );
  }
}

function checkOptions({ threads, kvType, ram, contextLength }: EngineOptions): void {
  const refuse = (name: string, value: unknown, wanted: string): never => {
    throw new SluiceError("bad-input", `${name} is ${String(value)}, but must be ${wanted}`);
  };
  if (!isWhole(threads) || threads < 1 || threads > MAXIMUM_THREADS)
    refuse("threads", threads, `a whole number from 1 to ${MAXIMUM_THREADS}`);
  if (kvType === undefined || !KV_TYPES.includes(kvType))
    refuse("kvType", kvType, `one of ${KV_TYPES.join(", ")}`);
  if (ram !== undefined && ram !== "auto" && !(isWhole(ram) && ram >= 0))
    refuse("ram", ram, 'a number of bytes or "auto"');
  if (contextLength !== undefined && !(isWhole(contextLength) && contextLength >= 1))
    refuse("contextLength", contextLength, "a whole number from 1 up");
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
