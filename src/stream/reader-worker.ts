/** The reader thread: fills the ring with chunks in the order of the plan, sweep after sweep. */
import { closeSync, openSync, readSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { decompressChunk } from "../store/compression.ts";
import { Control, Stopped } from "./control.ts";
import { type Ring, slotAddress } from "./ring.ts";
import { StageTimes } from "./stage-times.ts";
import type { ChunkRead, SweepPlan } from "./sweep-plan.ts";

export interface ReaderData {
  readonly plan: SweepPlan;
  readonly ring: Ring;
  readonly memory: WebAssembly.Memory;
  readonly threads: number;
  readonly control: SharedArrayBuffer;
  readonly times: SharedArrayBuffer;
  readonly stages: number;
}

const { plan, ring, memory, ...data } = workerData as ReaderData;
const control = new Control(data.threads, data.control);
const times = new StageTimes(data.stages, data.times);
const bytes = new Uint8Array(memory.buffer);
const compressed = new Uint8Array(ring.slotBytes);
const port = parentPort!;

port.on("message", (message: "start") => {
  let failure: string | undefined;
  const files: number[] = [];
  try {
    if (message === "start") {
      for (const path of plan.paths) files.push(openSync(path, "r"));
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
  let chunk = 0;
  for (let sweep = 0; ; sweep++) {
    for (let index = 0; index < plan.layerChunks; index++) load(sweep, chunk++, plan.chunks[index], files);
    if (control.waitForJob(sweep).asked > 0)
      for (let index = plan.layerChunks; index < plan.chunks.length; index++)
        load(sweep, chunk++, plan.chunks[index], files);
  }
}

function load(sweep: number, number: number, chunk: ChunkRead, files: readonly number[]): void {
  control.waitForSlot(number, ring.slots);
  if (control.stopped) throw new Stopped();
  const address = slotAddress(ring, number);
  const slot = bytes.subarray(address, address + chunk.bytes);
  const start = performance.now();
  if (chunk.stored === chunk.bytes) readFully(chunk, slot, files);
  else {
    const stored = compressed.subarray(0, chunk.stored);
    readFully(chunk, stored, files);
    decompressChunk(stored, slot);
  }
  times.addRead(sweep, chunk.stage, chunk.stored, performance.now() - start);
  control.produce();
}

function readFully(chunk: ChunkRead, target: Uint8Array, files: readonly number[]): void {
  for (let done = 0; done < target.length; ) {
    const got = readSync(files[chunk.file], target, done, target.length - done, chunk.offset + done);
    if (got === 0) throw new Error(`${plan.paths[chunk.file]} ends at byte ${chunk.offset + done}`);
    done += got;
  }
}
