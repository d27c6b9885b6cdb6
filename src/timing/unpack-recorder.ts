import type { RecordedFile, RecordedUnpack } from "./recording.ts";

/** What an unpack tells of a file that is done: the timing of its making without what follows it. */
export interface FileMade {
  readonly file: string;
  readonly bytes: number;
  readonly stored: number;
  readonly timing: { readonly readMs: number; readonly dequantizeMs: number; readonly encodeMs: number };
  readonly tensors: RecordedFile["tensors"];
}

/** Collects what an unpack does: between `begin` and `end` every moment belongs to a file, or to before or after them. */
export class UnpackRecorder {
  readonly #onEnd: (start: number, end: number) => void;
  #files: RecordedFile[] = [];
  #start: number | undefined;
  #fileStart = 0;
  #prepareMs: number | undefined;
  /** When the last file was done. */
  #lastDone = 0;
  #end: number | undefined;
  /** What is made, as soon as it is known. */
  model: RecordedUnpack["model"];

  /** @param onEnd told of the whole when it is over */
  constructor(onEnd: (start: number, end: number) => void) {
    this.#onEnd = onEnd;
  }

  begin(): void {
    this.#start = performance.now();
    this.#files = [];
    this.#prepareMs = undefined;
    this.#end = undefined;
    this.#lastDone = this.#start;
  }

  fileBegins(): void {
    const first = this.#prepareMs === undefined;
    this.#fileStart = first ? performance.now() : this.#lastDone;
    if (first) this.#prepareMs = this.#fileStart - this.#start!;
  }

  fileDone({ file, bytes, stored, timing, tensors }: FileMade): void {
    const { readMs, dequantizeMs, encodeMs } = timing;
    this.#lastDone = performance.now();
    const ms = this.#lastDone - this.#fileStart;
    // Writing goes on beside the rest; what it costs is the time that the rest does not explain.
    const writeMs = Math.max(0, ms - readMs - dequantizeMs - encodeMs);
    this.#files.push({
      ...{ name: file, startMs: this.#fileStart, ms, bytes, stored },
      ...{ readMs, dequantizeMs, encodeMs, writeMs, tensors },
    });
  }

  /** @param made whether there was something to unpack; otherwise nothing is recorded */
  end(made: boolean): void {
    if (this.#start === undefined) return;
    if (!made) {
      this.#start = undefined;
      return;
    }
    this.#end = performance.now();
    this.#onEnd(this.#start, this.#end);
  }

  /** @param start what times are counted from */
  recorded(start: number): RecordedUnpack | undefined {
    if (this.#start === undefined) return undefined;
    return {
      ...(this.model && { model: this.model }),
      ...(this.#prepareMs !== undefined && { prepareMs: this.#prepareMs }),
      ...(this.#end !== undefined && { finishMs: this.#end - this.#lastDone }),
      files: this.#files.map((file) => ({ ...file, startMs: file.startMs - start })),
    };
  }
}
