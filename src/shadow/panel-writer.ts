import type { ChunkRead } from "../stream/sweep-plan.ts";

/** Fills chunks panel by panel, in their order, and hands each over when it is full. */
export class PanelWriter {
  readonly #chunks: readonly ChunkRead[];
  readonly #buffer: Uint8Array;
  readonly #write: (bytes: Uint8Array, offset: number) => void;
  #chunk = 0;
  #part = 0;
  #panel = 0;

  /** @param write gets each chunk with its place in the file; the bytes are the same memory each time */
  constructor(chunks: readonly ChunkRead[], write: (bytes: Uint8Array, offset: number) => void) {
    this.#chunks = chunks;
    this.#buffer = new Uint8Array(Math.max(...chunks.map(({ bytes }) => bytes)));
    this.#write = write;
  }

  /** Room for the next panel (or vector), to be filled before the next call. */
  next(): Uint8Array {
    let part = this.#chunks[this.#chunk].parts[this.#part];
    if (this.#panel === part.panels) {
      this.#panel = 0;
      this.#part++;
      if (this.#part === this.#chunks[this.#chunk].parts.length) this.#nextChunk();
      part = this.#chunks[this.#chunk].parts[this.#part];
    }
    const at = part.offset + this.#panel++ * part.panelBytes;
    return this.#buffer.subarray(at, at + part.panelBytes);
  }

  /** The last panel is filled. */
  end(): void {
    this.#flush();
  }

  #nextChunk(): void {
    this.#flush();
    this.#chunk++;
    this.#part = 0;
    this.#buffer.fill(0);
  }

  #flush(): void {
    const { bytes, offset } = this.#chunks[this.#chunk];
    this.#write(this.#buffer.subarray(0, bytes), offset);
  }
}
