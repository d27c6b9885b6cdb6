/** The reader thread: brings chunks into memory in the order of the plan, sweep after sweep. */
import { closeSync, readSync } from "node:fs";
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
import { type Ring, slotOffset } from "./ring.ts";
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
  const bring = (sweep: number, index: number) => {
    if (control.stopped) throw new Stopped();
    if (!isInPlace(index, passed)) {
      const slot = streamed % ring.slots;
      if (streamed++ >= ring.slots) control.waitForConsumed(lastInSlot[slot]);
      lastInSlot[slot] = number;
      passed[index] = number;
      load(sweep, plan.chunks[index], slotOffset(ring, slot), files, lane);
    }
    control.produce();
    number++;
  };
  for (let sweep = 0; ; sweep++) {
    for (let index = 0; index < plan.layerChunks; index++) bring(sweep, index);
    if (control.waitForJob(sweep).asked > 0)
      for (let index = plan.layerChunks; index < plan.chunks.length; index++) bring(sweep, index);
  }
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

function load(
  sweep: number,
  chunk: ChunkRead,
  start: number,
  files: readonly number[],
  lane: ReaderLane,
): void {
  const begun = clock();
  const target = slots.subarray(start, start + chunk.bytes);
  if (chunk.stored < chunk.bytes) {
    readFully(chunk, arrivals.subarray(0, alignUp(chunk.stored)), files);
    decompressChunk(arrivals.subarray(0, chunk.stored), target);
  } else readFully(chunk, target, files);
  const end = clock();
  times.addRead(sweep, chunk.stage, chunk.stored, end - begun);
  lane.read(sweep, chunk.stage, begun, end, chunk.stored);
}

function readFully(chunk: ChunkRead, target: Uint8Array, files: readonly number[]): void {
  const path = plan.paths[chunk.file];
  for (let done = 0; done < target.length; ) {
    const got = tryRead(files[chunk.file], path, target.subarray(done), chunk.offset + done);
    if (got === 0)
      throw new SluiceError("bad-cache", `${path} ends at byte ${chunk.offset + done}: it is truncated`, {
        next: "Unpack the model again with --force.",
      });
    done += got;
  }
}

function tryRead(file: number, path: string, target: Uint8Array, offset: number): number {
  try {
    return readSync(file, target, 0, target.length, offset);
  } catch (error) {
    throw new SluiceError("io", `cannot read ${path}: ${reasonOf(error)}`, {
      next: "Check the disk that it is on, and the unpacked model with `sluice cache verify`.",
    });
  }
}
