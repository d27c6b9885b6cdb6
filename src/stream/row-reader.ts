import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import { halfToFloatTable } from "../quant/half.ts";
import { reasonOf } from "../store/io-error.ts";
import { layoutChunks } from "../store/layout.ts";
import { BLOCK_COLUMNS, PANEL_ROWS, panelBytes, Q8_BLOCK_BYTES, Q8_QUADS_BYTES } from "../store/panel.ts";
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

  /** @param file an uncompressed file whose first tensor is the matrix */
  constructor(folder: string, file: StoredFile) {
    this.#stored = file;
    this.#path = join(folder, file.name);
    try {
      this.#file = openSync(this.#path, "r");
    } catch (error) {
      throw new SluiceError("io", `cannot read ${this.#path}: ${reasonOf(error)}`, { cause: error });
    }
    const { dtype, columns } = file.tensors[0];
    this.#panel = new Uint8Array(panelBytes(dtype, columns));
    const chunks = layoutChunks(file.tensors);
    this.#firstPanels = chunks.map((chunk) => chunk.parts[0].firstPanel);
    this.#offsets = file.chunks.map((chunk) => chunk.offset);
  }

  /** Bytes that reading one row takes from the disk. */
  get rowBytes(): number {
    return this.#panel.length;
  }

  /** @param target (columns) float32 */
  read(row: number, target: Float32Array): void {
    const { dtype, columns } = this.#stored.tensors[0];
    const panel = Math.floor(row / PANEL_ROWS);
    const lane = row % PANEL_ROWS;
    let chunk = this.#firstPanels.length - 1;
    while (this.#firstPanels[chunk] > panel) chunk--;
    const offset = this.#offsets[chunk] + (panel - this.#firstPanels[chunk]) * this.#panel.length;
    const got = readSync(this.#file, this.#panel, 0, this.#panel.length, offset);
    if (got < this.#panel.length)
      throw new SluiceError("bad-cache", `${this.#path} ends at byte ${offset + got}`, {
        next: "Unpack the model again with --force.",
      });

    if (dtype === "f32") {
      const values = new Float32Array(this.#panel.buffer);
      for (let column = 0; column < columns; column++) target[column] = values[column * PANEL_ROWS + lane];
      return;
    }
    const weights = new Int8Array(this.#panel.buffer);
    const scales = new Uint16Array(this.#panel.buffer);
    const halves = halfToFloatTable();
    for (let column = 0; column < columns; column++) {
      const within = column % BLOCK_COLUMNS;
      const block = ((column - within) / BLOCK_COLUMNS) * Q8_BLOCK_BYTES;
      const weight = weights[block + (within - (within % 4)) * PANEL_ROWS + lane * 4 + (within % 4)];
      target[column] = weight * halves[scales[(block + Q8_QUADS_BYTES) / 2 + lane]];
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}
