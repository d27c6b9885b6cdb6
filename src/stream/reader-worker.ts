/** The reader thread: brings chunks into memory in the order of the plan, sweep after sweep. */
import { closeSync, readSync, readvSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { SluiceError } from "../errors.ts";
import { decompressChunk } from "../store/compression.ts";
import { reasonOf } from "../store/io-error.ts";
import { alignUp } from "../store/layout.ts";
import { mainClock } from "./clock.ts";
import { Control, Stopped } from "./control.ts";
import { Lanes, type ReaderLane } from "./lanes.ts";
import { openFile } from "./open-file.ts";
import type { Residence } from "./residence.ts";
import { BATCH_CHUNKS, type Ring, slotOffset } from "./ring.ts";
import { StageTimes } from "./stage-times.ts";
import type { ChunkRead, SweepPlan } from "./sweep-plan.ts";
import { untilStopped } from "./worker-message.ts";

export interface ReaderData {
  readonly plan: SweepPlan;
  readonly ring: Ring;
  readonly residence: Residence;
  /** Read past the page cache. */
  readonly direct: boolean;
  readonly threads: number;
  readonly control: SharedArrayBuffer;
  readonly times: SharedArrayBuffer;
  readonly lanes: SharedArrayBuffer;
  readonly stages: number;
  /** `performance.timeOrigin` of the main thread. */
  readonly origin: number;
}

/** A chunk, and where in the ring it is to be. */
interface Arrival {
  readonly chunk: ChunkRead;
  readonly target: Uint8Array;
}

const { plan, ring, residence, direct, ...data } = workerData as ReaderData;
const control = new Control(data.threads, data.control);
const times = new StageTimes(data.stages, data.times);
const lanes = new Lanes(data.stages, data.threads, data.lanes);
const clock = mainClock(data.origin);
const slots = new Uint8Array(ring.shared);
/** Behind the ring: compressed chunks arrive here. */
const arrivals = slots.subarray(slotOffset(ring, ring.slots), slotOffset(ring, ring.slots + 1));
const port = parentPort!;

port.on("message", () => port.postMessage(untilStopped(control, readAll)));

function readAll(): void {
  const files: number[] = [];
  try {
    for (const path of plan.paths) files.push(openFile(path, direct));
    readSweeps(files);
  } finally {
    for (const file of files) closeSync(file);
  }
}

/**
 * Read ahead as far as the ring allows, over the end of a sweep as well: the next one begins with the same layers.
 * Only whether the output is to be read in between is not known before the sweep is asked for.
 */
function readSweeps(files: readonly number[]): never {
  const lane = lanes.reader();
  const lastInSlot = new Float64Array(ring.slots);
  /** Of each chunk that is to stay: the number under which it passed through the ring; -1: not yet. */
  const passed = new Float64Array(plan.chunks.length).fill(-1);
  let number = 0;
  let streamed = 0;
  /** Bring the chunk `index` and, with the same read, some of those behind it. @returns how many */
  const bring = (sweep: number, index: number, end: number): number => {
    if (control.stopped) throw new Stopped();
    if (isInPlace(index, passed)) {
      control.produce();
      number++;
      return 1;
    }
    const batch: Arrival[] = [];
    do {
      const slot = streamed % ring.slots;
      if (streamed++ >= ring.slots) control.waitForConsumed(lastInSlot[slot]);
      const chunk = plan.chunks[index + batch.length];
      const start = slotOffset(ring, slot);
      lastInSlot[slot] = number + batch.length;
      passed[index + batch.length] = number + batch.length;
      batch.push({ chunk, target: slots.subarray(start, start + chunk.bytes) });
    } while (
      batch.length < BATCH_CHUNKS &&
      index + batch.length < end &&
      followsInFile(index + batch.length) &&
      !isInPlace(index + batch.length, passed)
    );
    load(sweep, batch, files, lane);
    number += batch.length;
    for (const _ of batch) control.produce();
    return batch.length;
  };
  for (let sweep = 0; ; sweep++) {
    for (let index = 0; index < plan.layerChunks; ) index += bring(sweep, index, plan.layerChunks);
    const end = control.waitForSweep(sweep) > 0 ? plan.chunks.length : plan.layerChunks;
    for (let index = plan.layerChunks; index < end; ) index += bring(sweep, index, end);
  }
}

/** Whether a chunk lies right behind the one before it, and both are stored as they are. */
function followsInFile(index: number): boolean {
  const [before, chunk] = [plan.chunks[index - 1], plan.chunks[index]];
  return (
    before.file === chunk.file &&
    before.offset + before.bytes === chunk.offset &&
    before.stored === before.bytes &&
    chunk.stored === chunk.bytes
  );
}

/** Whether a chunk is where it stays: all threads have taken their shares as it passed through the ring. */
function isInPlace(index: number, passed: Float64Array): boolean {
  if (residence.homes[index] < 0) return false;
  if (residence.loaded[index] === 0) {
    if (passed[index] < 0) return false;
    control.waitForConsumed(passed[index]);
    residence.loaded[index] = 1;
  }
  return true;
}

function load(sweep: number, batch: readonly Arrival[], files: readonly number[], lane: ReaderLane): void {
  let begun = clock();
  const [{ chunk: first, target }] = batch;
  if (first.stored < first.bytes) {
    readFully(first, arrivals.subarray(0, alignUp(first.stored)), files);
    decompressChunk(arrivals.subarray(0, first.stored), target);
  } else if (batch.length === 1) readFully(first, target, files);
  else readBatch(batch, files);
  // Each chunk has its share of the time.
  const each = (clock() - begun) / batch.reduce((sum, { chunk }) => sum + chunk.stored, 0);
  for (const { chunk } of batch) {
    const ms = each * chunk.stored;
    times.addRead(sweep, chunk.stage, chunk.stored, ms);
    lane.read(sweep, chunk.stage, begun, begun + ms, chunk.stored);
    begun += ms;
  }
}

/** Chunks that follow each other in a file, with one call: a disk is faster with more to do at a time. */
function readBatch(batch: readonly Arrival[], files: readonly number[]): void {
  const [{ chunk: first }] = batch;
  const targets = batch.map(({ target }) => target);
  let got = attempt(plan.paths[first.file], () => readvSync(files[first.file], targets, first.offset));
  for (const { chunk, target } of batch) {
    // What did not come whole comes again; a file that ends too early is found out there.
    if (got < target.length) readFully(chunk, target, files);
    got -= target.length;
  }
}

function readFully(chunk: ChunkRead, target: Uint8Array, files: readonly number[]): void {
  const path = plan.paths[chunk.file];
  for (let done = 0; done < target.length; ) {
    const rest = target.subarray(done);
    const got = attempt(path, () => readSync(files[chunk.file], rest, 0, rest.length, chunk.offset + done));
    if (got === 0)
      throw new SluiceError("bad-cache", `${path} ends at byte ${chunk.offset + done}: it is truncated`, {
        next: "Unpack the model again with --force.",
      });
    done += got;
  }
}

function attempt(path: string, read: () => number): number {
  try {
    return read();
  } catch (error) {
    throw new SluiceError("io", `cannot read ${path}: ${reasonOf(error)}`, {
      next: "Check the disk that it is on, and the unpacked model with `sluice cache verify`.",
    });
  }
}
