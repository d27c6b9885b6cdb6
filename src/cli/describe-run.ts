import type { Model } from "../engine/model.ts";
import type { Cache } from "../store/cache.ts";
import type { RecordedModel, RecordedUnpack } from "../timing/recording.ts";
import { interruptSignal } from "./interrupt.ts";
import { printableLine } from "./printable.ts";
import { currentRecorder, timingsAreWanted } from "./timings-file.ts";
import { circumstancesOf, memoryOf } from "./verdict-view.ts";

/** What is recorded of a model: what it is, and how it runs. */
export interface RunningModel {
  readonly cache: Cache;
  readonly memory: ReturnType<Model["memory"]>;
  readonly contextLength: number;
}

/** What is recorded of an unpacked model, whether it runs or was only made. */
export function describeCache({ folder, manifest }: Cache): NonNullable<RecordedUnpack["model"]> {
  return {
    name: printableLine(manifest.model.name),
    architecture: printableLine(manifest.model.architecture),
    layers: manifest.model.layers.length,
    dtype: manifest.dtype,
    cache: printableLine(folder),
  };
}

/** Tell the recorder what was opened; sweeps come after it. */
export function recordModel({ cache, memory, contextLength }: RunningModel): void {
  const recorder = currentRecorder();
  if (recorder === undefined) return;
  const { ringBytes, residentBytes, streamedBytes, direct, threads, kvType } = memory;
  recorder.model = {
    ...describeCache(cache),
    ...{ threads, kvType, contextLength, direct, ringBytes, residentBytes, streamedBytes },
  } satisfies RecordedModel;
  recorder.circumstances = memoryOf(memory);
}

/** When the sweeps are done: what they are held against, which is measured where it is not known. */
export async function recordCircumstances({ cache, memory }: RunningModel): Promise<void> {
  const recorder = currentRecorder();
  if (recorder === undefined || !timingsAreWanted() || interruptSignal.aborted) return;
  // Measuring is no part of the run.
  recorder.stop();
  const decode = recorder.recording().sweeps.filter(({ kind }) => kind === "decode");
  if (decode.length > 0)
    recorder.circumstances = (await circumstancesOf(cache, memory, decode)).circumstances;
}
