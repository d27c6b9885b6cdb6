import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { SluiceError, throwIfAborted } from "../errors.ts";
import type { Address, KvType } from "../kernels/types.ts";
import { compileKernels, createRelaxedKernels } from "../kernels/wasm.ts";
import type { Cache } from "../store/cache.ts";
import { availableMemory } from "../stream/available-memory.ts";
import { Control, type Job } from "../stream/control.ts";
import { prefersDirect } from "../stream/disk-speed.ts";
import { KvFile } from "../stream/kv-file.ts";
import { Lanes } from "../stream/lanes.ts";
import { loadChunks } from "../stream/load-chunks.ts";
import { stagingBytes } from "../stream/part-cursor.ts";
import type { ReaderData } from "../stream/reader-worker.ts";
import { residentBytes } from "../stream/residence.ts";
import { createRing } from "../stream/ring.ts";
import { RowReader } from "../stream/row-reader.ts";
import { StageTimes } from "../stream/stage-times.ts";
import { StreamProgress } from "../stream/stream-progress.ts";
import { planSweep } from "../stream/sweep-plan.ts";
import type { Observer, SweepKind, SweepTiming } from "../timing/types.ts";
import { Arena, MEMORY_BYTES } from "./arena.ts";
import { OVERHEAD_BYTES, residentBudget } from "./budget.ts";
import { allocateBuffers, type Buffers, MAXIMUM_ASKED, MAXIMUM_ROWS } from "./buffers.ts";
import type { ComputeData } from "./compute-worker.ts";
import { MAXIMUM_DRAFT } from "./draft/types.ts";
import { checkOptions, type EngineOptions } from "./engine-options.ts";
import { BLOCK_POSITIONS } from "./kv-block.ts";
import { KvPool } from "./kv-cache.ts";
import type { Sequence } from "./kv-sequence.ts";
import { kvMemoryBytes, splitKv } from "./kv-split.ts";
import { allocateWindow, type KvWindow, listBlocks } from "./kv-window.ts";
import { lensBytes, lensResult } from "./lens.ts";
import { type Row, RowFiller } from "./row-filler.ts";
import { placeWeights, type Shadow } from "./shadow.ts";
import { ALONE, type Tiles, usualTiles } from "./tiles.ts";
import type { TokenLogprob } from "./types.ts";
import { Workers } from "./workers.ts";

export interface SweepOptions {
  readonly signal?: AbortSignal | undefined;
  /** What the observer is to be told that it is; absent: nothing. */
  readonly kind?: SweepKind | undefined;
  /** Called about ten times a second with the layer that the sweep is at. */
  readonly onStage?: ((layer: number) => void) | undefined;
  /** Look at the rows that ask after every layer, not only after the last. */
  readonly lens?: boolean | undefined;
  /** For each row that asks (vocabulary), or its beginning: where its logits go. Absent: into new arrays. */
  readonly logits?: readonly Float32Array[] | undefined;
  /** How the rows are computed, which then lie in the order of their kinds; absent: as those of one sequence. */
  readonly tiles?: Tiles | undefined;
}

export interface SweepResult {
  /** For each row that asked, in order: (vocabulary). */
  readonly logits: readonly Float32Array[];
  /** With `lens`: for each row that asked the most probable tokens, after the embedding and then after each layer. */
  readonly lens?: readonly (readonly (readonly TokenLogprob[])[])[];
  readonly timing: SweepTiming;
}

const PROGRESS_MS = 100;
/** Positions of KV cache that a budget leaves room for, where the context is not shorter. */
const RESERVED_POSITIONS = 4096;
/** The same for each of many sequences, where the budget is left to us. */
const RESERVED_FOR_EACH = 512;

/**
 * The weights of one model, streaming, and the threads that compute with them. One sweep at a time; any number of
 * sequences. Close it when done.
 */
export class Engine {
  readonly maximumRows = MAXIMUM_ROWS;
  /** Rows of a sweep that may ask for logits: as many as sequences are wanted at a time, or more. */
  readonly maximumAsked: number;
  /** Sequences that may be generated at a time. */
  readonly parallel: number;
  readonly #cache: Cache;
  readonly #arena: Arena;
  readonly #buffers: Buffers;
  readonly #kv: KvPool;
  readonly #kvFile: KvFile | undefined;
  readonly #kvWindow: KvWindow | undefined;
  readonly #control: Control;
  readonly #times: StageTimes;
  readonly #lanes: Lanes;
  readonly #embedding: RowReader;
  readonly #filler: RowFiller;
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
  /** Weights of fewer bits, where they were asked for and fit into the budget. */
  readonly shadow: Shadow | undefined;
  /** Bytes of it; 0: there is none. */
  readonly shadowBytes: number;
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
    this.parallel = options.parallel ?? 1;
    this.maximumAsked = Math.max(MAXIMUM_ASKED, MAXIMUM_DRAFT + 1, this.parallel);
    this.#buffers = allocateBuffers(this.#arena, model, threads, this.maximumAsked);
    const { contextLength = model.contextLength || RESERVED_POSITIONS, ram, kvRam } = options;
    const some = this.parallel * Math.min(contextLength, RESERVED_FOR_EACH);
    const most = Math.max(contextLength, some);
    const split = splitKv(model, kvType, kvRam, most);
    const streams = split.windowBytes > 0;
    const usual = Math.max(Math.min(contextLength, RESERVED_POSITIONS), ram === "auto" ? some : 0);
    const kvBytes = kvMemoryBytes(split, streams ? most : usual);
    const available = availableMemory() - (options.reservedBytes ?? 0);
    const weightBytes = plan.chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
    const budget = residentBudget({
      ram,
      ringBytes: this.ringBytes,
      weightBytes,
      kvBytes,
      available,
    });
    this.#kvFile = streams ? new KvFile(folder, split.blocks * split.streamedBytes) : undefined;
    const overflow = this.#kvFile && { split, file: this.#kvFile };
    this.#kv = new KvPool(this.#arena, model, kvType, this.ringBytes + this.#arena.used, overflow);
    this.#kvWindow = overflow && allocateWindow(this.#arena, split, overflow.file.descriptor);
    const share = stagingBytes(plan, threads);
    const staging = Array.from({ length: threads }, () => this.#arena.allocate(share));

    // Where all weights stay there is nothing to guess for.
    const withShadow = options.shadow === true && budget < weightBytes;
    const limit = MEMORY_BYTES - kvBytes;
    const { residence, shadow } = placeWeights(cache, plan, this.#arena, { budget, limit, withShadow });
    this.shadow = shadow;
    this.shadowBytes = shadow?.bytes ?? 0;
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
    const context = options.contextLength ?? model.contextLength;
    this.#filler = new RowFiller(model, this.#arena, this.#buffers, this.#embedding, context);
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
      kvWindow: this.#kvWindow,
      buffers: this.#buffers,
      kernels: compileKernels(),
      shadow: shadow && { chunks: shadow.chunks, addresses: shadow.addresses },
    } as const;
    this.#workers = new Workers(
      this.#control,
      shared satisfies ReaderData,
      Array.from({ length: threads }, (_, thread): ComputeData => {
        return { ...shared, ...compute, thread, staging: staging[thread] };
      }),
    );
  }

  /** Positions of KV cache that there is still memory for, in whole blocks. */
  get kvRoom(): number {
    return this.#kv.room() * BLOCK_POSITIONS;
  }

  /** Whether rows of long prompts may be rounded to 8 bits here, which gives other keys and values. */
  get roundsToBytes(): boolean {
    return Boolean(createRelaxedKernels(this.#arena.memory)?.isExact());
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
    { signal, kind, onStage, lens = false, logits: targets, tiles: given }: SweepOptions,
  ): Promise<SweepResult> {
    throwIfAborted(signal);
    const asked = rows.filter((row) => row.logits).length;
    const most = lens ? MAXIMUM_ASKED : this.maximumAsked;
    const tiles = given ?? usualTiles(rows.length, asked);
    if (asked > most) throw new RangeError(`${asked} rows want logits, ${most} at most`);
    if (this.#closed) throw new SluiceError("aborted", "the model was closed");
    const start = performance.now();
    // What a callback throws must not end the process: it ends the sweep.
    let thrown: { readonly error: unknown } | undefined;
    const progress =
      onStage &&
      setInterval(() => {
        try {
          onStage(this.#control.stage);
        } catch (error) {
          thrown ??= { error };
          this.#control.stop();
        }
      }, PROGRESS_MS);
    try {
      const { model } = this.#cache.manifest;
      if (lens && this.#lens === 0) this.#lens = this.#arena.allocate(lensBytes(model, this.threads));
      const job = { rows: rows.length, asked, lens: lens ? this.#lens : 0, ...tiles };
      const { embedding, filled, cold } = await this.#compute(rows, job, start, { signal });
      const logits = this.#takeLogits(asked, targets);
      const observer = kind === undefined ? undefined : this.observer;
      const lanes = observer ? this.#lanes.take(this.#sweeps) : this.#lanes.drop(this.#sweeps);
      const { stages, began, ended } = this.#times.take(this.#sweeps++);
      const end = performance.now();
      // Clocks of threads agree to some microseconds only.
      const startingMs = Math.max(0, began - filled);
      const timing = {
        startMs: start,
        rows: rows.length,
        ms: end - start,
        embedding,
        layers: stages.slice(0, -1),
        output: stages[stages.length - 1],
        handoverMs: Math.max(0, began - filled + end - ended),
        ...(cold && { threadStartMs: startingMs }),
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
      clearInterval(progress);
    }
  }

  /**
   * The same with the weights of the shadow, which must be loaded: what it gives is a guess. All rows ask.
   *
   * @param logits for each row (vocabulary), to be filled
   */
  guess(
    rows: readonly Row[],
    { signal, logits }: Required<Pick<SweepOptions, "signal" | "logits">>,
  ): Promise<void> {
    const guess = this.#last.then(async () => {
      throwIfAborted(signal);
      if (this.#closed) throw new SluiceError("aborted", "the model was closed");
      const job = { rows: rows.length, asked: rows.length, lens: 0, ...ALONE };
      await this.#compute(rows, job, performance.now(), { signal, shadow: true });
      this.#takeLogits(rows.length, logits);
    });
    this.#last = guess.catch(() => {});
    return guess;
  }

  /** Bring the shadow into memory, beside whatever else is going on. */
  async loadShadow(signal?: AbortSignal): Promise<void> {
    const { shadow } = this;
    if (shadow === undefined || shadow.loaded) return;
    await loadChunks(shadow.path, [...shadow.own.keys()], { direct: this.direct, signal }, (chunk) =>
      this.#arena.bytes(shadow.own.get(chunk)!, chunk.bytes),
    );
    shadow.loaded = true;
  }

  /** Fill in the rows, and let the threads do a job. */
  async #compute(
    rows: readonly Row[],
    job: Omit<Job, "sweep">,
    start: number,
    { signal, shadow = false }: { readonly signal: AbortSignal | undefined; readonly shadow?: boolean },
  ) {
    const abort = () => this.#control.stop();
    try {
      const embedding = this.#filler.fill(rows, start);
      const written = this.#kvWindow && listBlocks(this.#kvWindow, this.#arena, this.#kv, rows);
      const filled = performance.now();
      signal?.addEventListener("abort", abort);
      const cold = !this.#workers.running;
      if (cold) await this.#workers.start(() => this.#reset());
      throwIfAborted(signal);
      if (!shadow) this.progress.begin(job.asked);
      this.#control.postJob({ sweep: shadow ? -1 : this.#sweeps, ...job });
      await this.#workers.done();
      written?.();
      return { embedding, filled, cold };
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Stop the threads and close the files. A sweep that is running ends with an `aborted` error. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#workers.close();
    this.#kvFile?.close();
    this.#embedding.close();
  }

  #reset(): void {
    this.progress.reset();
    this.#control.reset();
    this.#times.reset();
    this.#lanes.reset();
    this.#sweeps = 0;
  }

  /** The next sweep may come at any time, so they are copied. */
  #takeLogits(asked: number, targets?: readonly Float32Array[]): Float32Array[] {
    const { logits, logitsStride } = this.#buffers;
    const { vocabulary } = this.#cache.manifest.model;
    return Array.from({ length: asked }, (_, index) => {
      const target = targets?.[index] ?? new Float32Array(vocabulary);
      const count = Math.min(vocabulary, target.length);
      target.set(this.#arena.floats(logits + index * logitsStride * 4, count));
      return target;
    });
  }
}
