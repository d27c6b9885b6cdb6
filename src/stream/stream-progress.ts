import type { Control } from "./control.ts";
import type { Residence } from "./residence.ts";
import type { SweepPlan } from "./sweep-plan.ts";

/** What a sweep needs of one stage: of a layer, or (the last one) of the output. */
export interface StageLoad {
  readonly bytes: number;
  /** Of these, bytes that stay in memory. */
  readonly residentBytes: number;
}

/** Where the threads are in the sweep at work, at one moment. */
export interface SweepPosition {
  /** Stages that this sweep goes through: without the output where it wants no logits. */
  readonly stages: number;
  /** Stages whose weights are there, and whose arithmetic is done; with fractions: 2.5 is half of the third. */
  readonly brought: number;
  readonly computed: number;
  /** Stages of the next sweep that the reader has brought already. */
  readonly ahead: number;
  /** Whether the arithmetic stands still, for its next chunk is not there. */
  readonly waiting: boolean;
  /** Bytes read from disk, in all. */
  readonly bytesRead: number;
}

/**
 * Tells from the counters that the threads agree by where they are. It costs them nothing; only the main thread looks,
 * as often as it likes.
 */
export class StreamProgress {
  /** Of each layer in order, then of the output. */
  readonly stages: readonly StageLoad[];
  readonly #plan: SweepPlan;
  readonly #residence: Residence;
  readonly #control: Pick<Control, "produced" | "consumed">;
  /** For each number of chunks from the plan's start on: stages, and bytes that every sweep reads for them. */
  readonly #stagesAt: Float64Array;
  readonly #bytesAt: Float64Array;
  /** Chunks and bytes of the sweeps before the one at work since the threads were started, and chunks of that one. */
  #chunksBefore = 0;
  #bytesBefore = 0;
  #chunks = 0;
  /** Bytes that were read before the threads were started anew. */
  #bytesOfOld = 0;

  constructor(plan: SweepPlan, residence: Residence, control: Pick<Control, "produced" | "consumed">) {
    this.#plan = plan;
    this.#residence = residence;
    this.#control = control;
    const { chunks } = plan;
    const counts: number[] = [];
    const loads: { bytes: number; residentBytes: number }[] = [];
    for (const [index, { stage, bytes }] of chunks.entries()) {
      counts[stage] = (counts[stage] ?? 0) + 1;
      loads[stage] ??= { bytes: 0, residentBytes: 0 };
      loads[stage].bytes += bytes;
      if (residence.homes[index] >= 0) loads[stage].residentBytes += bytes;
    }
    this.stages = loads;
    this.#stagesAt = new Float64Array(chunks.length + 1);
    this.#bytesAt = new Float64Array(chunks.length + 1);
    for (let index = 0, inStage = 0; index < chunks.length; index++) {
      const { stage, stored } = chunks[index];
      inStage = stage === chunks[index - 1]?.stage ? inStage + 1 : 1;
      this.#stagesAt[index + 1] = stage + inStage / counts[stage];
      this.#bytesAt[index + 1] = this.#bytesAt[index] + (residence.homes[index] < 0 ? stored : 0);
    }
  }

  /** Main thread: the next sweep begins, and so many rows want logits. */
  begin(asked: number): void {
    this.#chunksBefore += this.#chunks;
    this.#bytesBefore += this.#bytesAt[this.#chunks];
    this.#chunks = asked > 0 ? this.#plan.chunks.length : this.#plan.layerChunks;
  }

  /** Main thread: the counters are back at the beginning. Call it before they are. */
  reset(): void {
    this.#bytesOfOld += this.#streamedBytes();
    this.#chunksBefore = 0;
    this.#bytesBefore = 0;
    this.#chunks = 0;
  }

  position(): SweepPosition {
    // In this order: what is computed then was never more than what had been brought.
    const computed = this.#inSweep(this.#control.consumed);
    const brought = this.#inSweep(this.#control.produced);
    const chunks = this.#chunks;
    return {
      stages: this.#stagesAt[chunks],
      brought: this.#stagesAt[Math.min(brought, chunks)],
      computed: this.#stagesAt[Math.min(computed, chunks)],
      ahead: this.#stagesAt[Math.max(0, brought - chunks)],
      waiting: brought === computed && computed < chunks,
      bytesRead: this.#bytesOfOld + this.#streamedBytes() + this.#residentBytesRead(),
    };
  }

  /** Chunks since the sweep at work began; the counters wrap at 32 bits. */
  #inSweep(counter: number): number {
    return (counter - this.#chunksBefore) | 0;
  }

  #streamedBytes(): number {
    const brought = this.#inSweep(this.#control.produced);
    const inSweep = Math.min(brought, this.#chunks);
    return this.#bytesBefore + this.#bytesAt[inSweep] + this.#bytesAt[brought - inSweep];
  }

  /** What stays in memory was read as well, once. */
  #residentBytesRead(): number {
    const { chunks } = this.#plan;
    const { loaded } = this.#residence;
    return chunks.reduce((sum, { stored }, index) => sum + (loaded[index] === 1 ? stored : 0), 0);
  }
}
