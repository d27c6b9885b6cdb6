/**
 * Beginnings of prompts that were computed before, by this process or another.
 *
 * A prompt is read in full sweeps of 128 rows and a last one of what is left. All rows of a full sweep are computed alike
 * (see tiles.ts), so the keys and values that full sweeps leave, from the first token on, follow from the tokens up to them
 * and from nothing else. These are kept, in segments of 128 positions. A prompt that begins with kept segments goes on
 * with the very sweeps that it would have had without them, and gives the same to the bit; and because a sweep that
 * streams takes as long for one row as for 128, it takes no more of them than if every common token had been kept.
 */
import { throwIfAborted } from "../errors.ts";
import { MAXIMUM_ROWS } from "./buffers.ts";
import { BLOCK_POSITIONS } from "./kv-block.ts";
import type { Sequence } from "./kv-sequence.ts";

/** Positions in a segment: rows of a full sweep. */
export const SEGMENT_POSITIONS = MAXIMUM_ROWS;
const SEGMENT_BLOCKS = SEGMENT_POSITIONS / BLOCK_POSITIONS;
/** How long the end of a generation waits for segments that are still to be written; those left over are not kept. */
const PATIENCE_MS = 500;

/** Where segments are kept. */
export interface PromptCache {
  open(prompt: readonly number[]): KeptPrompt;
}

/** The segments of one prompt. */
export interface KeptPrompt {
  /** How many of them are there, from its beginning on; the last token of the prompt is in none of these. */
  count(): Promise<number>;
  /**
   * @param targets memory of the segment's blocks
   * @returns whether it was there, whole and sound; otherwise the targets are in no certain state
   */
  read(segment: number, targets: readonly Uint8Array[]): Promise<boolean>;
  /**
   * Keep a segment, if that is worth it. Never throws.
   *
   * @param blocks may be in shared memory, and stay as they are until the promise is settled
   * @param ms what computing the whole prompt takes
   */
  write(segment: number, blocks: readonly Uint8Array[], ms: number): Promise<void>;
}

/** What a sequence and the cache have of one prompt. */
export class PromptSegments {
  readonly #kept: KeptPrompt;
  readonly #sequence: Sequence;
  /** Segments that can be kept. */
  readonly #segments: number;
  #writing: Promise<void> = Promise.resolve();
  #until = Number.POSITIVE_INFINITY;

  constructor(cache: PromptCache, prompt: readonly number[], sequence: Sequence) {
    this.#kept = cache.open(prompt);
    this.#sequence = sequence;
    this.#segments = Math.floor(prompt.length / SEGMENT_POSITIONS);
  }

  /** How many positions of the prompt are kept, from its beginning on. */
  async found(): Promise<number> {
    return (await this.#kept.count()) * SEGMENT_POSITIONS;
  }

  /**
   * Fill the sequence with what is kept.
   *
   * @param from positions that it has already: whole segments
   * @returns how many it has then
   * @throws SluiceError `aborted`, `context-full`
   */
  async recall(from: number, signal: AbortSignal | undefined): Promise<number> {
    const count = await this.#kept.count();
    let segment = from / SEGMENT_POSITIONS;
    for (; segment < count; segment++) {
      throwIfAborted(signal);
      this.#sequence.reserve((segment + 1) * SEGMENT_POSITIONS);
      if (!(await this.#read(segment))) break;
    }
    this.#sequence.truncate(segment * SEGMENT_POSITIONS);
    return segment * SEGMENT_POSITIONS;
  }

  /**
   * Begin to write a segment, which must stay as it is until `settle`.
   *
   * @param ms what computing it has taken
   */
  keep(segment: number, ms: number): void {
    if (segment >= this.#segments) return;
    this.#writing = this.#writing.then(async () => {
      if (performance.now() > this.#until) return;
      await this.#kept.write(segment, this.#blocks(segment), ms * this.#segments);
    });
  }

  /** Wait, not for long, until what is to be kept is written. */
  async settle(): Promise<void> {
    this.#until = performance.now() + PATIENCE_MS;
    await this.#writing;
  }

  async #read(segment: number): Promise<boolean> {
    const first = segment * SEGMENT_BLOCKS;
    return this.#sequence.fill(first, SEGMENT_BLOCKS, (targets) => this.#kept.read(segment, targets));
  }

  #blocks(segment: number): Uint8Array[] {
    const first = segment * SEGMENT_BLOCKS;
    return this.#sequence.blocks.slice(first, first + SEGMENT_BLOCKS).map(({ bytes }) => bytes);
  }
}
