import type { Address } from "../kernels/types.ts";
import { ALIGNMENT } from "../store/layout.ts";
import type { SweepPlan } from "./sweep-plan.ts";

/** Chunks on their way from disk to arithmetic: enough that neither waits for the other's hiccups. */
const SLOTS = 16;

/** A ring of memory slots, one chunk each: chunk number n (counted over all sweeps) goes to slot n % slots. */
export interface Ring {
  /** First byte of the ring, a multiple of `ALIGNMENT`. */
  readonly address: Address;
  readonly slots: number;
  readonly slotBytes: number;
}

export function ringFor(plan: SweepPlan, address: Address): Ring {
  return { address, slots: SLOTS, slotBytes: plan.slotBytes };
}

/** Bytes to reserve for the ring, with room to align its start. */
export function ringBytes(plan: SweepPlan): number {
  return SLOTS * plan.slotBytes + ALIGNMENT;
}

export function slotAddress(ring: Ring, chunk: number): Address {
  return ring.address + (chunk % ring.slots) * ring.slotBytes;
}
