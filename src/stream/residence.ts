import type { Address } from "../kernels/types.ts";
import { BATCH_CHUNKS } from "./ring.ts";
import type { ChunkRead, SweepPlan } from "./sweep-plan.ts";

/** Large blocks are taken in pieces, for one buffer cannot be as long as memory. */
const PIECE_BYTES = 1 << 30;

/**
 * Where the chunks that stay in memory lie: in the engine's memory as long as there is room, where kernels use them in
 * place, and then in further buffers, which are copied from like the ring.
 */
export interface Residence {
  /** For each chunk of the plan: -1 passes through the ring, 0 engine's memory, k the buffer number k - 1. */
  readonly homes: Int8Array;
  /** For each chunk: its first byte there. */
  readonly offsets: Float64Array;
  readonly buffers: readonly SharedArrayBuffer[];
  /** For each chunk: whether it is there (1). Set by the reader, once, when it has passed through the ring. */
  readonly loaded: Uint8Array<SharedArrayBuffer>;
}

/**
 * Choose chunks of `bytes` in all to stay in memory, spread evenly over the sweep: then the disk works on the chunks in
 * between while these are computed.
 *
 * @param allocate gives a place of so many bytes in the engine's memory, or undefined when that is full
 * @param first chunks that come before all others
 */
export function planResidence(
  plan: SweepPlan,
  bytes: number,
  allocate: (bytes: number) => Address | undefined,
  first: (chunk: ChunkRead) => boolean = () => false,
): Residence {
  const chosen = choose(plan.chunks, bytes, first);
  const homes = new Int8Array(plan.chunks.length).fill(-1);
  const offsets = new Float64Array(plan.chunks.length);
  const pieces: number[] = [];
  for (const [index, chunk] of plan.chunks.entries()) {
    if (!chosen[index]) continue;
    const address = allocate(chunk.bytes);
    if (address !== undefined) {
      homes[index] = 0;
      offsets[index] = address;
      continue;
    }
    if (pieces.length === 0 || pieces[pieces.length - 1] + chunk.bytes > PIECE_BYTES) pieces.push(0);
    homes[index] = pieces.length;
    offsets[index] = pieces[pieces.length - 1];
    pieces[pieces.length - 1] += chunk.bytes;
  }
  return {
    homes,
    offsets,
    buffers: pieces.map((size) => new SharedArrayBuffer(size)),
    loaded: new Uint8Array(new SharedArrayBuffer(plan.chunks.length)),
  };
}

/** Bytes of chunks that stay, and of those that have to be read in every sweep. */
export function residentBytes(plan: SweepPlan, { homes }: Residence): { resident: number; streamed: number } {
  let resident = 0;
  let streamed = 0;
  for (const [index, chunk] of plan.chunks.entries())
    if (homes[index] >= 0) resident += chunk.bytes;
    else streamed += chunk.stored;
  return { resident, streamed };
}

function choose(
  chunks: readonly ChunkRead[],
  bytes: number,
  first: (chunk: ChunkRead) => boolean,
): boolean[] {
  const others = chunks.filter((chunk) => !first(chunk));
  const evenly = chooseEvenly(others, bytes - totalBytes(chunks) + totalBytes(others));
  let other = 0;
  return chunks.map((chunk) => first(chunk) || evenly[other++]);
}

/**
 * At every point of the sweep the chosen chunks are the same share of what came before, as nearly as they can be in
 * groups of as many as one read brings. What is then left over of the bytes goes to single ones.
 */
function chooseEvenly(chunks: readonly ChunkRead[], bytes: number): boolean[] {
  const share = Math.min(1, bytes / totalBytes(chunks));
  const chosen = chunks.map(() => false);
  let passed = 0;
  let used = 0;
  for (const { first, end } of groups(chunks)) {
    const size = totalBytes(chunks.slice(first, end));
    passed += size;
    if (used + size > Math.min(bytes, passed * share + 1)) continue;
    used += size;
    chosen.fill(true, first, end);
  }
  for (const [index, chunk] of chunks.entries()) {
    if (chosen[index] || used + chunk.bytes > bytes) continue;
    used += chunk.bytes;
    chosen[index] = true;
  }
  return chosen;
}

/** Chunks that one read can bring: of one file, and so many. */
function groups(chunks: readonly ChunkRead[]): { first: number; end: number }[] {
  const found: { first: number; end: number }[] = [];
  for (let first = 0; first < chunks.length; ) {
    let end = first + 1;
    while (end < chunks.length && end - first < BATCH_CHUNKS && chunks[end].file === chunks[first].file)
      end++;
    found.push({ first, end });
    first = end;
  }
  return found;
}

function totalBytes(chunks: readonly ChunkRead[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
}
