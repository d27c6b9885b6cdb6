import { SluiceError } from "../errors.ts";
import type { Address } from "../kernels/types.ts";
import type { Hyperparameters, RopeParameters } from "../model/types.ts";
import type { RowReader } from "../stream/row-reader.ts";
import type { StageTiming } from "../timing/types.ts";
import type { Arena } from "./arena.ts";
import { type Buffers, MAXIMUM_ROWS } from "./buffers.ts";
import type { Sequence } from "./kv-sequence.ts";
import { fillRopeRow, ropeFrequencies } from "./rope-table.ts";

/** One token of one sequence on its way through a sweep. */
export interface Row {
  readonly sequence: Sequence;
  readonly position: number;
  readonly token: number;
  /** Whether the logits after this token are wanted. */
  readonly logits: boolean;
}

/** Puts the rows of a sweep where the threads look for them. */
export class RowFiller {
  readonly #model: Hyperparameters;
  readonly #arena: Arena;
  readonly #buffers: Buffers;
  readonly #embedding: RowReader;
  /** Of `rope` and, where there is one, `localRope`. */
  readonly #ropes: readonly { rope: RopeParameters; table: Address; frequencies: Float64Array }[];

  /** @param contextLength that rows come from */
  constructor(
    model: Hyperparameters,
    arena: Arena,
    buffers: Buffers,
    embedding: RowReader,
    contextLength: number,
  ) {
    this.#model = model;
    this.#arena = arena;
    this.#buffers = buffers;
    this.#embedding = embedding;
    this.#ropes = (
      [
        [model.rope, buffers.ropeTable],
        [model.localRope, buffers.localRopeTable],
      ] as const
    ).flatMap(([rope, table]) =>
      rope === undefined ? [] : [{ rope, table, frequencies: ropeFrequencies(rope, contextLength) }],
    );
  }

  /**
   * Fill in tables, embeddings and rope angles.
   *
   * @param start when the sweep began, in milliseconds
   * @throws SluiceError `bad-input` for a token that is not in the vocabulary, `context-full`
   */
  fill(rows: readonly Row[], start: number): StageTiming {
    const { vocabulary } = this.#model;
    for (const { sequence, position, token } of rows) {
      if (!Number.isInteger(token) || token < 0 || token >= vocabulary)
        throw new SluiceError("bad-input", `token ${token} is not in the vocabulary of ${vocabulary}`);
      sequence.reserve(position + 1);
    }
    this.#fillTables(rows);
    const readMs = this.#fillEmbeddings(rows);
    const bytes = rows.length * this.#embedding.rowBytes;
    return { bytes, readMs, waitMs: readMs, computeMs: performance.now() - start - readMs };
  }

  #fillTables(rows: readonly Row[]): void {
    const { rowTable, askedTable } = this.#buffers;
    const table = this.#arena.words(rowTable, 2 * rows.length);
    const asked = this.#arena.words(askedTable, MAXIMUM_ROWS);
    let askedRows = 0;
    for (const [index, { sequence, position, logits }] of rows.entries()) {
      table[2 * index] = sequence.table;
      table[2 * index + 1] = position;
      if (logits) asked[askedRows++] = index;
      for (const { rope, table: ropeTable, frequencies } of this.#ropes) {
        const { dimensions, magnitude = 1 } = rope;
        const angles = this.#arena.floats(ropeTable + index * dimensions * 4, dimensions);
        fillRopeRow(frequencies, position, magnitude, angles);
      }
    }
  }

  /** @returns milliseconds of reading */
  #fillEmbeddings(rows: readonly Row[]): number {
    const { x } = this.#buffers;
    const { width, embeddingScale } = this.#model;
    const start = performance.now();
    for (const [index, { token }] of rows.entries()) {
      const values = this.#arena.floats(x + index * width * 4, width);
      this.#embedding.read(token, values);
      if (embeddingScale !== undefined) for (let i = 0; i < width; i++) values[i] *= embeddingScale;
    }
    return performance.now() - start;
  }
}
