/** A thread that makes stages of a shadow: of a layer, or of the output. */
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { SluiceError } from "../errors.ts";
import { decompressChunk } from "../store/compression.ts";
import { UNPACK_AGAIN } from "../store/names.ts";
import { repackPanel } from "../store/repack.ts";
import type { ShadowDtype } from "../store/shadow.ts";
import type { ChunkRead, SweepPlan } from "../stream/sweep-plan.ts";
import { type Failure, toFailure } from "../stream/worker-message.ts";
import { PanelWriter } from "./panel-writer.ts";

export interface ShadowJob {
  /** Of the cache. */
  readonly from: SweepPlan;
  /** Of the shadow. */
  readonly to: SweepPlan;
  /** The file that is being made. */
  readonly path: string;
}

/** A stage is made, or cannot be. */
export interface ShadowMessage {
  readonly failure?: Failure;
}

const { from, to, path } = workerData as ShadowJob;
const port = parentPort!;

port.on("message", (stage: number) => port.postMessage(make(stage)));

function make(stage: number): ShadowMessage {
  const own = (chunk: ChunkRead) => chunk.stage === stage;
  const file = openSync(path, "r+");
  try {
    const writer = new PanelWriter(to.chunks.filter(own), (bytes, offset) => {
      for (let done = 0; done < bytes.length; )
        done += writeSync(file, bytes, done, bytes.length - done, offset + done);
    });
    const dtypes = to.chunks.filter(own).flatMap(({ parts }) => parts);
    for (const chunk of from.chunks.filter(own)) {
      const bytes = readChunk(chunk);
      for (const { role, dtype, columns, offset, panels, panelBytes } of chunk.parts) {
        const target = dtypes.find((part) => part.role === role)!.dtype;
        for (let panel = 0; panel < panels; panel++) {
          const at = offset + panel * panelBytes;
          const from = bytes.subarray(at, at + panelBytes);
          if (target === dtype) writer.next().set(from);
          else repackPanel(dtype, from, target as ShadowDtype, writer.next(), columns);
        }
      }
    }
    writer.end();
    return {};
  } catch (error) {
    return { failure: toFailure(error) };
  } finally {
    closeSync(file);
  }
}

function readChunk({ file, offset, stored, bytes }: ChunkRead): Uint8Array {
  const source = from.paths[file];
  const handle = openSync(source, "r");
  try {
    const raw = new Uint8Array(stored);
    for (let done = 0; done < stored; ) {
      const got = readSync(handle, raw, done, stored - done, offset + done);
      if (got === 0)
        throw new SluiceError("bad-cache", `${source} ends at byte ${offset + done}: it is truncated`, {
          next: UNPACK_AGAIN,
        });
      done += got;
    }
    if (stored === bytes) return raw;
    const target = new Uint8Array(bytes);
    decompressChunk(raw, target);
    return target;
  } finally {
    closeSync(handle);
  }
}
