import { SluiceError } from "../errors.ts";
import { amount, array, count, flag, line, Mismatch, number, object, oneOf, optional } from "./decode.ts";
import {
  type Lane,
  type LaneEvent,
  type MemorySample,
  RECORDING_FORMAT,
  RECORDING_VERSION,
  type RecordedFile,
  type RecordedMachine,
  type RecordedModel,
  type RecordedStage,
  type RecordedSweep,
  type RecordedUnpack,
  type Recording,
  type Span,
  type Timeline,
} from "./recording.ts";
import type { Verdict } from "./verdict.ts";

/** More than any recording has: what is made from one must not run out of memory. */
const MOST_LAYERS = 4096;
const MOST_ENTRIES = 1_000_000;

const machine = object<RecordedMachine>({
  cpu: line,
  processors: count,
  memoryBytes: amount,
  node: line,
  platform: line,
  disk: optional(amount),
  arithmetic: optional(amount),
});

const model = object<RecordedModel>({
  name: line,
  architecture: line,
  layers: count,
  dtype: line,
  cache: line,
  threads: count,
  kvType: line,
  contextLength: count,
  direct: flag,
  ringBytes: amount,
  residentBytes: amount,
  streamedBytes: amount,
});

const span = object<Span>({
  name: oneOf("unpack", "load", "template", "tokenize", "prefill", "guess", "decode", "sample"),
  startMs: number,
  ms: amount,
  tokens: optional(count),
});

const tensor = object<RecordedFile["tensors"][number]>({
  name: line,
  bytes: amount,
  readMs: amount,
  dequantizeMs: amount,
  encodeMs: amount,
});

const file = object<RecordedFile>({
  name: line,
  startMs: number,
  ms: amount,
  bytes: amount,
  stored: amount,
  readMs: amount,
  dequantizeMs: amount,
  encodeMs: amount,
  writeMs: amount,
  tensors: array(tensor, MOST_LAYERS),
});

const unpack = object<RecordedUnpack>({
  model: optional(
    object<NonNullable<RecordedUnpack["model"]>>({
      name: line,
      architecture: line,
      layers: count,
      dtype: line,
      cache: line,
    }),
  ),
  prepareMs: optional(amount),
  finishMs: optional(amount),
  files: array(file, 2 * MOST_LAYERS),
});

const stage = object<RecordedStage>({
  bytes: amount,
  readMs: amount,
  waitMs: amount,
  computeMs: amount,
  attentionMs: optional(amount),
  feedForwardMs: optional(amount),
});

const sweep = object<RecordedSweep>({
  kind: oneOf("prefill", "decode"),
  startMs: number,
  ms: amount,
  rows: count,
  embedding: stage,
  layers: array(stage, MOST_LAYERS),
  output: stage,
  handoverMs: optional(amount),
  threadStartMs: optional(amount),
  sampleMs: amount,
  tokens: optional(count),
  guessed: optional(count),
  held: optional(count),
  guessMs: optional(amount),
});

const event = object<LaneEvent>({
  kind: oneOf("read", "wait", "attention", "feed-forward", "output"),
  stage: count,
  startMs: number,
  ms: amount,
  bytes: optional(amount),
});

const lane = object<Lane>({ thread: line, events: array(event, MOST_ENTRIES) });
const timeline = object<Timeline>({ sweep: count, lanes: array(lane, 1024) });
const sample = object<MemorySample>({ atMs: number, rssBytes: amount });

const verdict = object<Verdict>({
  bound: oneOf("disk", "page cache", "compute", "memory"),
  text: line,
  gain: optional(
    object<NonNullable<Verdict["gain"]>>({ bytes: amount, savedSeconds: number, factor: amount }),
  ),
});

const recording = object<Recording>({
  format: oneOf(RECORDING_FORMAT),
  version: oneOf(RECORDING_VERSION),
  sluice: line,
  began: line,
  ms: amount,
  command: line,
  machine,
  model: optional(model),
  spans: array(span, MOST_ENTRIES),
  unpack: optional(unpack),
  sweeps: array(sweep, MOST_ENTRIES),
  skipped: optional(object<NonNullable<Recording["skipped"]>>({ sweeps: count, rows: count, ms: amount })),
  timelines: array(timeline, 1024),
  memory: array(sample, MOST_ENTRIES),
  peakRssBytes: amount,
  verdict: optional(verdict),
});

/**
 * A recording from JSON that anybody may have written. What comes back has every field that it must have, of its type
 * and within reason, and none that it does not know.
 *
 * @param name what the text is called in errors
 * @throws SluiceError `bad-input`
 */
export function readRecording(text: string, name: string): Recording {
  const value = parse(text, name);
  checkFormat(value, name);
  try {
    const read = recording(value);
    checkReferences(read);
    return read;
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    throw new SluiceError("bad-input", `${name}: ${error.path.replace(/^\./, "")} ${error.message}`, {
      next: "The recording is damaged or was changed: record it again with --timings.",
    });
  }
}

function parse(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SluiceError("bad-input", `${name} is not JSON: ${(cause as Error).message}`, {
      next: "Give a file that --timings FILE.json has written.",
      cause,
    });
  }
}

function checkFormat(value: unknown, name: string): void {
  const { format, version } = (value ?? {}) as { format?: unknown; version?: unknown };
  if (format !== RECORDING_FORMAT)
    throw new SluiceError("bad-input", `${name} is not a timing recording of sluice`, {
      next: "Give a file that --timings FILE.json has written; .trace.json files are for Perfetto.",
    });
  if (typeof version === "number" && version > RECORDING_VERSION)
    throw new SluiceError(
      "bad-input",
      `${name} is a recording of version ${version}; this sluice reads version ${RECORDING_VERSION}`,
      { next: "Read it with the newer sluice that has written it." },
    );
}

/** What no field tells by itself. */
function checkReferences({ model, sweeps, timelines }: Recording): void {
  const layers = model?.layers ?? sweeps[0]?.layers.length ?? 0;
  for (const [index, sweep] of sweeps.entries())
    if (sweep.layers.length !== layers)
      throw at(
        `sweeps[${index}].layers`,
        `has ${sweep.layers.length} entries, and the model ${layers} layers`,
      );
  for (const [index, timeline] of timelines.entries()) {
    const path = `timelines[${index}]`;
    if (timeline.sweep >= sweeps.length)
      throw at(`${path}.sweep`, `is ${timeline.sweep}, of ${sweeps.length}`);
    for (const { events } of timeline.lanes)
      if (events.some(({ stage }) => stage > layers)) throw at(path, `has a stage beyond ${layers}`);
  }
}

function at(path: string, message: string): Mismatch {
  return Object.assign(new Mismatch(message), { path });
}
