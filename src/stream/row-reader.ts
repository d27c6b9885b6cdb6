import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import { reasonOf } from "../store/io-error.ts";
import { layoutChunks } from "../store/layout.ts";
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
    const { dtype } = this.#stored.tensors[0];
    const panel = Math.floor(row / PANEL_ROWS);
    let chunk = this.#firstPanels.length - 1;
    while (this.#firstPanels[chunk] > panel) chunk--;
    const offset = this.#offsets[chunk] + (panel - this.#firstPanels[chunk]) * this.#panel.length;
    const got = readSync(this.#file, this.#panel, 0, this.#panel.length, offset);
    if (got < this.#panel.length)
      throw new SluiceError("bad-cache", `${this.#path} ends at byte ${offset + got}`, {
        next: "Unpack the model again with --force.",
      });
    readPanelRow(dtype, this.#panel, row % PANEL_ROWS, target);
  }

  close(): void {
    closeSync(this.#file);
  }
}
