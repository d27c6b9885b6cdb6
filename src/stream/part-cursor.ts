import type { Address } from "../kernels/types.ts";
import type { Control } from "./control.ts";
import type { ComputeLane } from "./lanes.ts";
import type { Residence } from "./residence.ts";
import { type Ring, slotOffset } from "./ring.ts";
import type { Part, SweepPlan } from "./sweep-plan.ts";

/** What a compute thread needs to get at the chunks of a sweep. */
export interface CursorOptions {
  readonly plan: SweepPlan;
  readonly ring: Ring;
  readonly residence: Residence;
  readonly control: Control;
  readonly thread: number;
  readonly memory: WebAssembly.Memory;
  /** Room in the engine's memory, of this thread alone, for `stagingBytes`. */
  readonly staging: Address;
  /** Milliseconds on the main thread's clock. */
  readonly clock: () => number;
  /** Told of every wait. */
  readonly lane: ComputeLane | undefined;
}

/** Bytes of the most that a thread asks for at a time, when threads share out the panels of a part. */
export function stagingBytes({ chunks }: Pick<SweepPlan, "chunks">, threads: number): number {
  let most = 0;
  for (const { parts } of chunks)
    for (const { panels, panelGroup, panelBytes } of parts)
      most = Math.max(most, Math.ceil(panels / panelGroup / threads) * panelGroup * panelBytes);
  return most;
}

/** A compute thread's way through the chunks of a sweep: hands out their parts, in order, as they arrive. */
export class PartCursor {
  readonly #options: CursorOptions;
  readonly #ring: Uint8Array;
  /** The further buffers of chunks that stay. */
  readonly #buffers: readonly Uint8Array[];
  readonly #engine: Uint8Array;
  /** Milliseconds that `next` has stood still, since the last `takeWait`. */
  #waitMs = 0;
  /** Chunks before the one in hand, over all sweeps: in all, and through the ring. */
  #chunk = -1;
  #streamed = 0;
  /** Index of the chunk in hand in the plan, and of the part to hand out next. */
  #index = -1;
  #part = 0;
  /** Whether the chunk in hand is where it stays. */
  #inPlace = false;

  constructor(options: CursorOptions) {
    this.#options = options;
    this.#ring = new Uint8Array(options.ring.shared);
    this.#buffers = options.residence.buffers.map((shared) => new Uint8Array(shared));
    // What is staged and what stays lies where the memory began: a view stays good when the memory grows.
    this.#engine = new Uint8Array(options.memory.buffer);
  }

  /** The next part. `panels` gets at its bytes, until the next call. */
  next(): Part {
    const { chunks } = this.#options.plan;
    if (this.#index < 0 || this.#part === chunks[this.#index].parts.length) this.#advance();
    return chunks[this.#index].parts[this.#part++];
  }

  /**
   * Address of some panels of the part that `next` gave last, until the next call of either. Every panel is asked for by
   * some thread in every sweep: of a chunk that is to stay, each thread takes its share where it stays the first time.
   */
  panels(first: number, count: number): Address {
    const { plan, ring, residence, staging } = this.#options;
    const part = plan.chunks[this.#index].parts[this.#part - 1];
    const home = residence.homes[this.#index];
    const from = part.offset + first * part.panelBytes;
    const stays = residence.offsets[this.#index] + from;
    if (home === 0 && this.#inPlace) return stays;
    const buffer = home > 0 ? this.#buffers[home - 1] : undefined;
    const bytes = count * part.panelBytes;
    const passing = slotOffset(ring, this.#streamed % ring.slots) + from;
    const source =
      buffer !== undefined && this.#inPlace
        ? buffer.subarray(stays, stays + bytes)
        : this.#ring.subarray(passing, passing + bytes);
    if (!this.#inPlace) buffer?.set(source, stays);
    const address = home === 0 ? stays : staging;
    this.#engine.set(source, address);
    return address;
  }

  /** The sweep ends here: the chunk in hand is done with, and the next one is the first of the plan. */
  finishSweep(): void {
    this.#release();
    this.#index = -1;
    this.#part = 0;
  }

  /** Count what a thread has stood still for other bytes than a part's. */
  countWait(start: number, end: number): void {
    this.#waitMs += end - start;
    this.#options.lane?.wait(start, end);
  }

  takeWait(): number {
    const waited = this.#waitMs;
    this.#waitMs = 0;
    return waited;
  }

  #advance(): void {
    if (this.#index >= 0) this.#release();
    const { control, residence, clock } = this.#options;
    this.#chunk++;
    this.#index++;
    this.#part = 0;
    if (!control.isProduced(this.#chunk)) {
      const start = clock();
      control.waitForChunk(this.#chunk);
      this.countWait(start, clock());
    }
    this.#inPlace = residence.homes[this.#index] >= 0 && residence.loaded[this.#index] === 1;
  }

  #release(): void {
    if (!this.#inPlace) this.#streamed++;
    this.#options.control.consume(this.#options.thread);
  }
}
