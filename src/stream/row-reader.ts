import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import { reasonOf } from "../store/io-error.ts";
import { type Chunk, layoutChunks } from "../store/layout.ts";
import { PANEL_ROWS, panelBytes } from "../store/panel.ts";
import { readPanelRow } from "../store/panel-row.ts";
import type { StoredFile } from "../store/types.ts";

/** Rows of the embedding, one small read each: the table is never in memory. */
export class RowReader {
  readonly #file: number;
  readonly #path: string;
  readonly #stored: StoredFile;
  readonly #panel: Uint8Array;
  /** First panel and place in the file of each chunk. */
  readonly #firstPanels: number[];
  readonly #offsets: number[];
  readonly #chunks: readonly Chunk[];

  /** @param file an uncompressed file whose first tensor is the matrix */
  constructor(folder: string, file: StoredFile) {
    this.#stored = file;
    this.#path = join(folder, file.name);
    try {
      this.#file = openSync(this.#path, "r");
    } catch (error) {
      throw new SluiceError("io", `cannot read ${this.#path}: ${reasonOf(error)}`, {
        next: "Check the disk that it is on, and the unpacked model with `sluice cache verify`.",
        cause: error,
      });
    }
    const { dtype, columns } = file.tensors[0];
    this.#panel = new Uint8Array(panelBytes(dtype, columns));
    this.#chunks = layoutChunks(file.tensors);
    this.#firstPanels = this.#chunks.map((chunk) => chunk.parts[0].firstPanel);
    this.#offsets = file.chunks.map((chunk) => chunk.offset);
  }

  /** Bytes that reading one row takes from the disk. */
  get rowBytes(): number {
    return this.#panel.length;
  }

  /** @param target (columns) float32 */
  read(row: number, target: Float32Array): void {
    const { dtype } = this.#stored.tensors[0];
    const panel = Math.floor(row / PANEL_ROWS);
    let chunk = this.#firstPanels.length - 1;
    while (this.#firstPanels[chunk] > panel) chunk--;
    const offset = this.#offsets[chunk] + (panel - this.#firstPanels[chunk]) * this.#panel.length;
    this.#readFully(this.#panel, offset);
    readPanelRow(dtype, this.#panel, row % PANEL_ROWS, target);
  }

  /**
   * Read the whole matrix once, a chunk at a time.
   *
   * @param visit gets every row in order: (columns) float32, the same memory each time
   * @returns yields after each chunk how many rows are done
   */
  *scan(visit: (row: number, values: Float32Array) => void): Generator<number> {
    const { dtype, columns, rows } = this.#stored.tensors[0];
    const values = new Float32Array(columns);
    const bytes = new Uint8Array(Math.max(...this.#chunks.map(({ parts }) => parts[0].bytes)));
    for (const [index, { parts }] of this.#chunks.entries()) {
      const [{ firstPanel, panels }] = parts;
      const chunk = bytes.subarray(0, parts[0].bytes);
      this.#readFully(chunk, this.#offsets[index]);
      const end = Math.min(rows, (firstPanel + panels) * PANEL_ROWS);
      for (let row = firstPanel * PANEL_ROWS; row < end; row++) {
        const from = (Math.floor(row / PANEL_ROWS) - firstPanel) * this.#panel.length;
        const panel = chunk.subarray(from, from + this.#panel.length);
        readPanelRow(dtype, panel, row % PANEL_ROWS, values);
        visit(row, values);
      }
      yield end;
    }
  }

  #readFully(target: Uint8Array, offset: number): void {
    const got = readSync(this.#file, target, 0, target.length, offset);
    if (got < target.length)
      throw new SluiceError("bad-cache", `${this.#path} ends at byte ${offset + got}`, {
        next: "Unpack the model again with --force.",
      });
  }

  close(): void {
    closeSync(this.#file);
  }
}
