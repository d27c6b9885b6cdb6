/** The reader thread: brings chunks into memory in the order of the plan, sweep after sweep. */
import { closeSync, readSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { decompressChunk } from "../store/compression.ts";
import { alignUp } from "../store/layout.ts";
import { Control, Stopped } from "./control.ts";
import { openFile } from "./open-file.ts";
import type { Residence } from "./residence.ts";
import { type Ring, slotOffset } from "./ring.ts";
import { StageTimes } from "./stage-times.ts";
import type { ChunkRead, SweepPlan } from "./sweep-plan.ts";

export interface ReaderData {
  readonly plan: SweepPlan;
  readonly ring: Ring;
  readonly residence: Residence;
  /** Read past the page cache. */
  readonly direct: boolean;
  readonly memory: WebAssembly.Memory;
  readonly threads: number;
  readonly control: SharedArrayBuffer;
  readonly times: SharedArrayBuffer;
  readonly stages: number;
}

const { plan, ring, residence, direct, memory, ...data } = workerData as ReaderData;
const control = new Control(data.threads, data.control);
const times = new StageTimes(data.stages, data.times);
const slots = new Uint8Array(ring.shared);
const homes = [new Uint8Array(memory.buffer), ...residence.buffers.map((shared) => new Uint8Array(shared))];
/** Behind the ring: what cannot be read straight to its place (compressed chunks, chunks that stay) arrives here. */
const arrivals = slots.subarray(slotOffset(ring, ring.slots), slotOffset(ring, ring.slots + 1));
const port = parentPort!;

port.on("message", (message: "start") => {
  let failure: string | undefined;
  const files: number[] = [];
  try {
    if (message === "start") {
      for (const path of plan.paths) files.push(openFile(path, direct));
      readSweeps(files);
    }
  } catch (error) {
    if (!(error instanceof Stopped)) {
      failure = (error as Error).message;
      control.stop();
    }
  } finally {
    for (const file of files) closeSync(file);
  }
  port.postMessage({ stopped: true, failure });
});

/**
 * Read ahead as far as the ring allows, over the end of a sweep as well: the next one begins with the same layers.
 * Only whether the output is to be read in between is not known before the sweep is asked for.
 */
function readSweeps(files: readonly number[]): never {
  const lastInSlot = new Float64Array(ring.slots);
  let number = 0;
  let streamed = 0;
  const bring = (sweep: number, index: number) => {
    if (control.stopped) throw new Stopped();
    const chunk = plan.chunks[index];
    const home = residence.homes[index];
    if (home < 0) {
      const slot = streamed % ring.slots;
      if (streamed++ >= ring.slots) control.waitForConsumed(lastInSlot[slot]);
      lastInSlot[slot] = number;
      const start = slotOffset(ring, slot);
      load(sweep, chunk, slots.subarray(start, start + chunk.bytes), files, true);
    } else if (residence.loaded[index] === 0) {
      const start = residence.offsets[index];
      load(sweep, chunk, homes[home].subarray(start, start + chunk.bytes), files, false);
      residence.loaded[index] = 1;
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

/** @param aligned whether the target can be read into directly */
function load(
  sweep: number,
  chunk: ChunkRead,
  target: Uint8Array,
  files: readonly number[],
  aligned: boolean,
): void {
  const start = performance.now();
  if (chunk.stored < chunk.bytes) {
    readFully(chunk, arrivals.subarray(0, alignUp(chunk.stored)), files);
    decompressChunk(arrivals.subarray(0, chunk.stored), target);
  } else if (aligned) {
    readFully(chunk, target, files);
  } else {
    readFully(chunk, arrivals.subarray(0, chunk.bytes), files);
    target.set(arrivals.subarray(0, chunk.bytes));
  }
  times.addRead(sweep, chunk.stage, chunk.stored, performance.now() - start);
}

function readFully(chunk: ChunkRead, target: Uint8Array, files: readonly number[]): void {
  for (let done = 0; done < target.length; ) {
    const got = readSync(files[chunk.file], target, done, target.length - done, chunk.offset + done);
    if (got === 0) throw new Error(`${plan.paths[chunk.file]} ends at byte ${chunk.offset + done}`);
    done += got;
  }
}
