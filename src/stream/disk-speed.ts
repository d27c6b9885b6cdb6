/** How fast the disk under a cache root is read, in both ways that there are; measured once and remembered there. */
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  readvSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ALIGNMENT, CHUNK_BYTES } from "../store/layout.ts";
import { mediumOf } from "../store/medium.ts";
import { isRate, recall, remember } from "../store/remembered.ts";
import { version } from "../version.ts";
import { BATCH_CHUNKS, createRing, type Ring } from "./ring.ts";

export interface DiskSpeed {
  /** Bytes per second past the page cache; null where platform or file system know no direct reads. */
  readonly direct: number | null;
  /**
   * Bytes per second through the page cache, of what is not in it. Where there are no direct writes, nothing can be
   * kept out of the page cache: it is then the speed of writing, as the nearest thing known of the disk itself.
   */
  readonly buffered: number;
  /** Bytes per second out of the page cache. */
  readonly cached: number;
}

const FILE = "disk.json";
const SCRATCH_BYTES = 64 * 1024 * 1024;
/** What is read of a file that was there before: disks reach their speed only after some of it. */
const SAMPLE_BYTES = 256 * 1024 * 1024;
/** What is read one way before the other takes its turn: then a disk's whims hit both. */
const PIECE_BYTES = 2 * BATCH_CHUNKS * CHUNK_BYTES;
/** Slow disks get a shorter file: writing stops after so many milliseconds. */
const WRITE_MS = 500;
/** The scratch file is not to be what fills a disk. */
const LEAST_FREE_BYTES = 8 * SCRATCH_BYTES;
/** Models of fewer bytes are read faster than a measurement pays for. */
export const WORTH_MEASURING_BYTES = 256e6;
/** Buffered reads cost processor time and push other programs' files out: they have to be faster by so much. */
const BUFFERED_GAIN = 1.2;

/** Whether weights should be read past the page cache when they do not fit into it. */
export function prefersDirect(root: string, ring: Ring, streamedBytes: number): boolean {
  if (!ring.direct || streamedBytes < WORTH_MEASURING_BYTES) return ring.direct;
  const speed = diskSpeed(root, { ring });
  return !speed?.direct || speed.direct * BUFFERED_GAIN > speed.buffered;
}

/**
 * The speed of the disk under a cache root, remembered or measured in a fraction of a second.
 *
 * @param root need not be there: the nearest folder above is measured then, and nothing remembered
 * @param ring memory that weights will stream through, to read into; it must not be in use yet
 * @param again measure also where it is remembered: the better one counts, for only what else goes on slows a disk down
 * @param sample a large file that has long been written; if it is on the same disk, it tells better how fast weights
 *   will be read than a file that the disk may still be busy with
 * @returns undefined where it is not remembered and nothing can be written
 */
export function diskSpeed(
  root: string,
  {
    ring,
    again = false,
    sample,
  }: { readonly ring?: Ring; readonly again?: boolean; readonly sample?: string } = {},
): DiskSpeed | undefined {
  const folder = nearestFolder(root);
  const memory = ring?.shared ?? new SharedArrayBuffer(PIECE_BYTES);
  const circumstances = {
    sluice: version(),
    device: statSync(folder).dev,
    hugePages: isOnHugePages(memory),
    readChunks: BATCH_CHUNKS,
  };
  const known = recall(root, FILE, circumstances, isDiskSpeed);
  if (known && !again) return known;
  const scratch = join(folder, `.sluice-scratch-${process.pid}`);
  try {
    if (mediumOf(folder).freeBytes < LEAST_FREE_BYTES) return known;
    writeFileSync(scratch, new Uint8Array(ALIGNMENT), { flag: "wx", flush: true });
    const target = ring ?? createRing({ slotBytes: CHUNK_BYTES }, scratch);
    const fresh = measure(scratch, target);
    const settled =
      fresh.direct === null || !sample ? undefined : measureSample(sample, circumstances.device, target);
    const measured = better(known, settled ? better({ ...fresh, direct: settled }, fresh) : fresh);
    if (folder === root) remember(root, FILE, circumstances, measured);
    return measured;
  } catch {
    // Read-only, full, not ours: the disk's speed is then not known.
    return known;
  } finally {
    rmSync(scratch, { force: true });
  }
}

function better(known: DiskSpeed | undefined, measured: DiskSpeed): DiskSpeed {
  return known?.direct && measured.direct && known.direct > measured.direct ? known : measured;
}

function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path));
}

function isDiskSpeed(found: unknown): found is DiskSpeed {
  const { direct, buffered, cached } = found as DiskSpeed;
  return (direct === null || isRate(direct)) && isRate(buffered) && isRate(cached);
}

/** @throws the operating system's error */
function measure(path: string, ring: Ring): DiskSpeed {
  const past = ring.direct ? openSync(path, constants.O_RDWR | constants.O_DIRECT) : undefined;
  const through = openSync(path, "r+");
  try {
    // Nobody else needs the name, and a process that is killed here leaves nothing behind.
    if (process.platform !== "win32") rmSync(path);
    fillWithNoise(ring);
    const slots = slotViews(ring);
    const start = performance.now();
    const bytes = writeFile(past ?? through, slots);
    const writeRate = rate(bytes, performance.now() - start);
    const direct: number[] = [];
    const buffered: number[] = [];
    const cached: number[] = [];
    for (let piece = 0; piece < bytes; piece += 2 * PIECE_BYTES) {
      if (past !== undefined) {
        direct.push(timePiece(past, piece, slots));
        buffered.push(timePiece(through, piece + PIECE_BYTES, slots));
      }
      cached.push(timePiece(through, piece + PIECE_BYTES, slots));
    }
    // What slows one piece down is not the disk, so the best of several counts; but the system's read-ahead makes the
    // best of buffered reads better than they are in the long run.
    const best = (times: readonly number[]) => rate(PIECE_BYTES, Math.min(...times));
    if (past === undefined) return { direct: null, buffered: writeRate, cached: best(cached) };
    const allMs = buffered.reduce((sum, ms) => sum + ms, 0);
    return { direct: best(direct), buffered: rate(bytes / 2, allMs), cached: best(cached) };
  } finally {
    closeSync(through);
    if (past !== undefined) closeSync(past);
  }
}

/**
 * Bytes per second of reading a file past the page cache, the median of its pieces; undefined if it is on another
 * disk, or too short.
 *
 * @throws the operating system's error
 */
function measureSample(path: string, device: number, ring: Ring): number | undefined {
  const { dev, size } = statSync(path);
  const pieces = Math.floor(Math.min(size, SAMPLE_BYTES) / PIECE_BYTES);
  if (dev !== device || pieces < 3) return undefined;
  const file = openSync(path, constants.O_RDONLY | constants.O_DIRECT);
  try {
    const slots = slotViews(ring);
    const times = Array.from({ length: pieces }, (_, piece) => timePiece(file, piece * PIECE_BYTES, slots));
    return rate(PIECE_BYTES, times.sort((a, b) => a - b)[pieces >> 1]);
  } finally {
    closeSync(file);
  }
}

/** Write pairs of pieces for as long as there is time, one at least. @returns bytes written, durably */
function writeFile(file: number, slots: readonly Uint8Array[]): number {
  const start = performance.now();
  let done = 0;
  do {
    for (const end = done + 2 * PIECE_BYTES; done < end; done += CHUNK_BYTES)
      if (writeSync(file, slotAt(slots, done), 0, CHUNK_BYTES, done) < CHUNK_BYTES)
        throw new Error("disk full");
  } while (done < SCRATCH_BYTES && performance.now() - start < WRITE_MS);
  fsyncSync(file);
  return done;
}

/** Milliseconds of reading a piece, several chunks with one read as the reader thread does. */
function timePiece(file: number, offset: number, slots: readonly Uint8Array[]): number {
  const start = performance.now();
  for (let done = 0; done < PIECE_BYTES; done += BATCH_CHUNKS * CHUNK_BYTES) {
    const targets = Array.from({ length: BATCH_CHUNKS }, (_, index) =>
      slotAt(slots, done + index * CHUNK_BYTES),
    );
    readvSync(file, targets, offset + done);
  }
  return performance.now() - start;
}

function slotViews(ring: Ring): Uint8Array[] {
  const count = Math.floor((ring.slots * ring.slotBytes) / CHUNK_BYTES);
  return Array.from(
    { length: count },
    (_, slot) => new Uint8Array(ring.shared, ring.start + slot * CHUNK_BYTES, CHUNK_BYTES),
  );
}

function slotAt(slots: readonly Uint8Array[], offset: number): Uint8Array {
  return slots[(offset / CHUNK_BYTES) % slots.length];
}

/** What no disk can compress (xorshift, Marsaglia 2003). */
function fillWithNoise({ shared }: Ring): void {
  const words = new Uint32Array(shared, 0, Math.floor(shared.byteLength / 4));
  let noise = 2463534242;
  for (let word = 0; word < words.length; word++) {
    noise ^= noise << 13;
    noise ^= noise >>> 17;
    noise ^= noise << 5;
    words[word] = noise;
  }
}

/** Whether memory gets huge pages, into which reads are faster; nothing has been written into it yet. */
function isOnHugePages(memory: SharedArrayBuffer): boolean {
  const before = hugePageBytes();
  // One byte brings its whole page into being.
  new Uint8Array(memory)[memory.byteLength >> 1] = 1;
  return hugePageBytes() > before;
}

/** Bytes of this process's memory in huge pages; 0 where the system does not tell. */
function hugePageBytes(): number {
  try {
    return (
      Number(/^AnonHugePages:\s+(\d+) kB/m.exec(readFileSync("/proc/self/smaps_rollup", "utf8"))?.[1] ?? 0) *
      1024
    );
  } catch {
    return 0;
  }
}

function rate(bytes: number, ms: number): number {
  return (bytes * 1000) / ms;
}
