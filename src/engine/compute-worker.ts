/** A compute thread: waits for sweeps and runs the forward pass on its share. */
import { parentPort, workerData } from "node:worker_threads";
import type { Address, KvType } from "../kernels/types.ts";
import { createRelaxedKernels, createWasmKernels } from "../kernels/wasm.ts";
import type { Hyperparameters } from "../model/types.ts";
import { isPacked } from "../store/packed-panel.ts";
import { mainClock } from "../stream/clock.ts";
import { Control } from "../stream/control.ts";
import { Lanes } from "../stream/lanes.ts";
import { PartCursor } from "../stream/part-cursor.ts";
import type { Residence } from "../stream/residence.ts";
import { type ResidentChunks, ResidentCursor } from "../stream/resident-cursor.ts";
import type { Ring } from "../stream/ring.ts";
import { StageTimes } from "../stream/stage-times.ts";
import { type SweepPlan, stageDtypes } from "../stream/sweep-plan.ts";
import { untilStopped, type WorkerMessage } from "../stream/worker-message.ts";
import type { Buffers } from "./buffers.ts";
import { forward } from "./forward.ts";
import { attentionShapes } from "./kv-block.ts";
import type { KvWindow } from "./kv-window.ts";
import type { Machine } from "./machine.ts";
import { Team } from "./team.ts";
import { Weights } from "./weights.ts";

export interface ComputeData {
  readonly thread: number;
  readonly threads: number;
  readonly model: Hyperparameters;
  readonly plan: SweepPlan;
  readonly ring: Ring;
  readonly residence: Residence;
  readonly staging: Address;
  readonly kvType: KvType;
  readonly kvWindow?: KvWindow | undefined;
  readonly buffers: Buffers;
  readonly kernels: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly control: SharedArrayBuffer;
  readonly times: SharedArrayBuffer;
  /** Another set of weights, of fewer bits. */
  readonly shadow?: ResidentChunks | undefined;
  /** Absent where nobody looks. */
  readonly lanes?: SharedArrayBuffer;
  readonly stages: number;
  /** `performance.timeOrigin` of the main thread. */
  readonly origin: number;
}

const { thread, threads, model, plan, ring, residence, buffers, memory, ...data } = workerData as ComputeData;
const control = new Control(threads, data.control);
const times = new StageTimes(data.stages, data.times);
const lanes = data.lanes && new Lanes(data.stages, threads, data.lanes);
const clock = mainClock(data.origin);
const team = new Team(control, thread);
const dtypes = stageDtypes(plan);
const packed = hasPacked(dtypes);
const { kvWindow } = data;
const shapes = attentionShapes(model, data.kvType, kvWindow?.split);
const port = parentPort!;

port.on("message", () => port.postMessage(untilStopped(control, runSweeps)));

function runSweeps(): never {
  const lane = lanes?.compute(thread);
  const { staging } = data;
  const cursor = new PartCursor({
    ...{ plan, ring, residence, control, thread, memory, staging, clock, lane },
  });
  const weights = new Weights(cursor, team);
  const relaxed = createRelaxedKernels(memory);
  const kernels = createWasmKernels(data.kernels, memory, relaxed);
  const int8 = relaxed?.isExact() ? relaxed : undefined;
  const waiting: Machine["waiting"] = (action) => {
    const start = clock();
    action();
    cursor.countWait(start, clock());
  };
  let words = new Uint32Array(memory.buffer);
  const shadow = data.shadow && withShadow(data.shadow);

  for (let number = 0; ; number++) {
    const job = control.waitForJob(number);
    const { sweep } = job;
    // The memory grows between sweeps.
    if (memory.buffer !== words.buffer) words = new Uint32Array(memory.buffer);
    if (sweep < 0) {
      const { cursor, ...own } = shadow!;
      const machine = { model, buffers, kernels, int8, shapes, kvWindow, team, tiles: job, words, ...own };
      forward({ ...machine, waiting: (action) => action(), partDone: () => {} }, job);
      cursor.restart();
      team.barrier();
      if (thread === 0) port.postMessage({ done: sweep } satisfies WorkerMessage);
      continue;
    }
    const began = clock();
    let started = began;
    lane?.begin(sweep, began);
    const partDone: Machine["partDone"] = (part, stage) => {
      if (thread > 0 && lane === undefined) return;
      const now = clock();
      lane?.done(part, stage, now);
      if (thread !== 0) return;
      const waitMs = cursor.takeWait();
      times.addCompute(sweep, stage, part === "feed-forward" ? 1 : 0, waitMs, now - started - waitMs);
      started = now;
      if (part !== "attention") control.stage = stage + 1;
    };
    forward(
      {
        ...{ model, buffers, kernels, int8, shapes, kvWindow, weights, dtypes },
        ...{ team, tiles: job, packed, words, waiting, partDone },
      },
      job,
    );
    cursor.finishSweep();
    // The main thread will look at the lanes of all threads.
    team.barrier();
    if (thread > 0) continue;
    times.mark(sweep, began, started);
    port.postMessage({ done: sweep } satisfies WorkerMessage);
  }
}

function withShadow(chunks: ResidentChunks) {
  const cursor = new ResidentCursor(chunks);
  const dtypes = stageDtypes(chunks);
  return { cursor, weights: new Weights(cursor, team), dtypes, packed: hasPacked(dtypes) };
}

function hasPacked(stages: Machine["dtypes"]): boolean {
  return stages.some((stage) => [...stage.values()].some(isPacked));
}
