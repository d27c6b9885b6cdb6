import { availableParallelism } from "node:os";
import { SluiceError, throwIfAborted } from "../errors.ts";
import { compileKernels } from "../kernels/wasm.ts";
import type { Cache } from "../store/cache.ts";
import { ALIGNMENT } from "../store/layout.ts";
import { Control } from "../stream/control.ts";
import type { ReaderData } from "../stream/reader-worker.ts";
import { ringBytes, ringFor } from "../stream/ring.ts";
import { RowReader } from "../stream/row-reader.ts";
import { StageTimes } from "../stream/stage-times.ts";
import { planSweep } from "../stream/sweep-plan.ts";
import type { StageTiming, SweepTiming } from "../timing/types.ts";
import { Arena } from "./arena.ts";
import { allocateBuffers, type Buffers, MAXIMUM_ASKED, MAXIMUM_ROWS } from "./buffers.ts";
import type { ComputeData } from "./compute-worker.ts";
import { KvPool, type Sequence } from "./kv-cache.ts";
import { fillRopeRow, ropeFrequencies } from "./rope-table.ts";
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
  /** Called about ten times a second with the layer that the sweep is at. */
  readonly onStage?: ((layer: number) => void) | undefined;
}

export interface SweepResult {
  /** For each row that asked, in order: (vocabulary). Copies: they stay valid. */
  readonly logits: readonly Float32Array[];
  readonly timing: SweepTiming;
}

const PROGRESS_MS = 100;

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
  readonly #embedding: RowReader;
  readonly #frequencies: Float64Array;
  readonly #workers: Workers;
  readonly ringBytes: number;
  /** Sweeps since the workers were started. */
  #sweeps = 0;
  #busy = false;

  constructor(cache: Cache, threads = availableParallelism()) {
    const { manifest, folder } = cache;
    const { model } = manifest;
    const plan = planSweep(folder, manifest);
    const stages = model.layers.length + 1;
    this.#cache = cache;
    this.#arena = new Arena();
    this.ringBytes = ringBytes(plan);
    const ring = ringFor(plan, this.#arena.allocate(this.ringBytes, ALIGNMENT));
    this.#buffers = allocateBuffers(this.#arena, model, threads);
    const kvType = manifest.dtype === "f32" ? "f32" : "f16";
    this.#kv = new KvPool(this.#arena, model, kvType);
    this.#control = new Control(threads);
    this.#times = new StageTimes(stages);
    this.#embedding = new RowReader(folder, manifest.embedding);
    this.#frequencies = ropeFrequencies(model.rope);
    const shared = {
      plan,
      ring,
      memory: this.#arena.memory,
      threads,
      control: this.#control.shared,
      times: this.#times.shared,
      stages,
    };
    const compute = {
      model,
      quantized: manifest.dtype !== "f32",
      kvType,
      buffers: this.#buffers,
      kernels: compileKernels(),
    } as const;
    this.#workers = new Workers(
      this.#control,
      shared satisfies ReaderData,
      Array.from({ length: threads }, (_, thread): ComputeData => {
        return { ...shared, ...compute, thread };
      }),
    );
  }

  createSequence(contextLength: number): Sequence {
    return this.#kv.createSequence(contextLength);
  }

  /**
   * Run all layers over these rows. Rows of a sequence must come in the order of their positions and continue what
   * is in its KV cache.
   *
   * @throws SluiceError `aborted` within a chunk of the signal; the rows' positions must be computed again
   */
  async sweep(rows: readonly Row[], { signal, onStage }: SweepOptions = {}): Promise<SweepResult> {
    if (this.#busy) throw new Error("a sweep is running already");
    if (rows.length > MAXIMUM_ROWS) throw new RangeError(`${rows.length} rows, ${MAXIMUM_ROWS} at most`);
    throwIfAborted(signal);
    this.#busy = true;
    const start = performance.now();
    const abort = () => this.#control.stop();
    const progress = onStage && setInterval(() => onStage(this.#control.stage), PROGRESS_MS);
    try {
      const embedding = this.#fill(rows);
      const asked = rows.filter((row) => row.logits).length;
      signal?.addEventListener("abort", abort);
      if (!this.#workers.running) await this.#workers.start(() => this.#reset());
      throwIfAborted(signal);
      this.#control.postJob(this.#sweeps, rows.length, asked);
      await this.#workers.done();
      const stages = this.#times.take(this.#sweeps++);
      const output = stages.pop()!;
      const timing = { rows: rows.length, ms: performance.now() - start, embedding, layers: stages, output };
      return { logits: this.#takeLogits(asked), timing };
    } catch (error) {
      throwIfAborted(signal);
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      clearInterval(progress);
      this.#busy = false;
    }
  }

  /** Stop the threads and close the files. */
  async close(): Promise<void> {
    await this.#workers.close();
    this.#embedding.close();
  }

  #reset(): void {
    this.#control.reset();
    this.#times.reset();
    this.#sweeps = 0;
  }

  /** Put rows, embeddings and rope angles where the threads look for them. */
  #fill(rows: readonly Row[]): StageTiming {
    const { model } = this.#cache.manifest;
    for (const { sequence, position, token } of rows) {
      if (!(token >= 0 && token < model.vocabulary))
        throw new SluiceError("bad-input", `token ${token} is not in the vocabulary of ${model.vocabulary}`);
      sequence.reserve(position + 1);
    }
    const buffers = this.#buffers;
    const table = this.#arena.words(buffers.rowTable, 2 * rows.length);
    const asked = this.#arena.words(buffers.askedTable, MAXIMUM_ROWS);
    let askedRows = 0;
    let readMs = 0;
    const start = performance.now();
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
