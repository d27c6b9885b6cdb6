import type { Address } from "../kernels/types.ts";
import type { Control } from "./control.ts";
import { type Ring, slotAddress } from "./ring.ts";
import type { Part, SweepPlan } from "./sweep-plan.ts";

/** A compute thread's way through the chunks of a sweep: hands out their parts, in order, as they arrive. */
export class PartCursor {
  /** Milliseconds that `next` has stood still, since the last `takeWait`. */
  #waitMs = 0;
  /** Number of the chunk in hand, counted over all sweeps, and its index in the plan. */
  #chunk = -1;
  #index = -1;
  /** The part to hand out next. */
  #part = 0;
  readonly #plan: SweepPlan;
  readonly #ring: Ring;
  readonly #control: Control;
  readonly #thread: number;

  constructor(plan: SweepPlan, ring: Ring, control: Control, thread: number) {
    this.#plan = plan;
    this.#ring = ring;
    this.#control = control;
    this.#thread = thread;
  }

  /** The next part and where it lies. It stays there until the next call; then its chunk may be overwritten. */
  next(): Part {
    if (this.#index < 0 || this.#part === this.#plan.chunks[this.#index].parts.length) this.#advance();
    return this.#plan.chunks[this.#index].parts[this.#part++];
  }

  /** Address of the part that `next` gave last. */
  get address(): Address {
    const part = this.#plan.chunks[this.#index].parts[this.#part - 1];
    return slotAddress(this.#ring, this.#chunk) + part.offset;
  }

  /** The sweep ends here: the chunk in hand is done with, and the next one is the first of the plan. */
  finishSweep(): void {
    this.#control.consume(this.#thread);
    this.#index = -1;
    this.#part = 0;
  }

  takeWait(): number {
    const waited = this.#waitMs;
    this.#waitMs = 0;
    return waited;
  }

  #advance(): void {
    if (this.#index >= 0) this.#control.consume(this.#thread);
    this.#chunk++;
    this.#index++;
    this.#part = 0;
    if (this.#control.isProduced(this.#chunk)) return;
    const start = performance.now();
    this.#control.waitForChunk(this.#chunk);
    this.#waitMs += performance.now() - start;
  }
}
