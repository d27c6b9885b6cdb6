import type { Address } from "../kernels/types.ts";
import type { ChunkRead, Part } from "./sweep-plan.ts";

/** Chunks that all lie in the engine's memory. */
export interface ResidentChunks {
  readonly chunks: readonly ChunkRead[];
  /** Of each chunk. */
  readonly addresses: Float64Array;
}

/** A compute thread's way through such chunks: as `PartCursor`, and nothing to wait for. */
export class ResidentCursor {
  readonly #chunks: ResidentChunks;
  /** Index of the chunk in hand, and of the part to hand out next. */
  #index = 0;
  #part = 0;

  constructor(chunks: ResidentChunks) {
    this.#chunks = chunks;
  }

  next(): Part {
    const { chunks } = this.#chunks;
    if (this.#part === chunks[this.#index].parts.length) {
      this.#index++;
      this.#part = 0;
    }
    return chunks[this.#index].parts[this.#part++];
  }

  panels(first: number, _count: number): Address {
    const { chunks, addresses } = this.#chunks;
    const { offset, panelBytes } = chunks[this.#index].parts[this.#part - 1];
    return addresses[this.#index] + offset + first * panelBytes;
  }

  /** The next part is the first of the plan. */
  restart(): void {
    this.#index = 0;
    this.#part = 0;
  }
}
