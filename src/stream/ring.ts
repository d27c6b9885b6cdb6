import { closeSync, readSync } from "node:fs";
import { ALIGNMENT } from "../store/layout.ts";
import { openDirect } from "./open-file.ts";
import type { SweepPlan } from "./sweep-plan.ts";

/** Chunks on their way from disk to arithmetic: enough that neither waits for the other's hiccups. */
const SLOTS = 10;
/** Chunks that one read brings at most: the disk fills one half of the ring while threads compute with the other. */
export const BATCH_CHUNKS = SLOTS / 2;

/**
 * A ring of memory slots that chunks pass through, in the order of the sweep.
 *
 * It lies in a buffer of its own and not in the engine's WebAssembly memory, for only such a buffer gets huge pages from
 * the C library (see cli/second-process.ts), and reads into huge pages take a third of the time. Each compute thread
 * copies its share of a chunk over, which the disk leaves time for.
 */
export interface Ring {
  readonly shared: SharedArrayBuffer;
  /** Where the first slot begins: page-aligned in memory where reads go past the page cache. */
  readonly start: number;
  readonly slots: number;
  readonly slotBytes: number;
  /** Whether files can be read past the page cache into it. */
  readonly direct: boolean;
}

/** Bytes of a ring. */
export function ringBytes({ slotBytes }: Pick<SweepPlan, "slotBytes">): number {
  // One slot more: see reader-worker.ts.
  return (SLOTS + 1) * slotBytes + ALIGNMENT;
}

/** @param path a file of the cache, to try direct reads with */
export function createRing(plan: Pick<SweepPlan, "slotBytes">, path: string): Ring {
  const shared = new SharedArrayBuffer(ringBytes(plan));
  const start = findAlignedStart(shared, path);
  const slots = { slots: SLOTS, slotBytes: plan.slotBytes };
  return { shared, start: start ?? 0, direct: start !== undefined, ...slots };
}

export function slotOffset(ring: Ring, slot: number): number {
  return ring.start + slot * ring.slotBytes;
}

/**
 * An offset at which the buffer is aligned for direct reads. JavaScript does not tell addresses, but the system refuses
 * unaligned reads (EINVAL), so trying tells. A large block from the C library begins 16 bytes behind a page.
 */
function findAlignedStart(shared: SharedArrayBuffer, path: string): number | undefined {
  const file = openDirect(path);
  if (file === undefined) return undefined;
  const bytes = new Uint8Array(shared);
  const usual = ALIGNMENT - 16;
  try {
    for (let back = 0; back < ALIGNMENT; back += 16) {
      const offset = (usual - back + ALIGNMENT) % ALIGNMENT;
      try {
        readSync(file, bytes, offset, ALIGNMENT, 0);
        return offset;
      } catch {
        // Not aligned there, or no direct reads at all: then every offset is refused.
      }
    }
    return undefined;
  } finally {
    closeSync(file);
  }
}
