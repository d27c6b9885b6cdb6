import { Recorder } from "../../src/timing/recorder.ts";
import type { Lane, Recording } from "../../src/timing/recording.ts";
import type { SweepTiming } from "../../src/timing/types.ts";

export const LAYERS = 4;

/** A sweep of four layers, of 2 ms attention, 1 ms feed-forward and 0.5 ms of waiting each. */
export function sweepAt(startMs: number, rows = 1): SweepTiming {
  const layer = {
    bytes: 1000,
    readMs: 0.5,
    waitMs: 0.5,
    computeMs: 3,
    attentionMs: 2,
    feedForwardMs: 1,
  };
  return {
    startMs,
    rows,
    ms: 20,
    embedding: { bytes: 64, readMs: 0.25, waitMs: 0.25, computeMs: 0.25 },
    layers: Array.from({ length: LAYERS }, () => layer),
    output: { bytes: 2000, readMs: 1, waitMs: 1, computeMs: 4 },
    handoverMs: 0.5,
  };
}

export function lanesAt(startMs: number): Lane[] {
  return [
    { thread: "reader", events: [{ kind: "read", stage: 0, startMs, ms: 0.5, bytes: 1000 }] },
    {
      thread: "compute 0",
      events: [
        { kind: "wait", stage: 0, startMs: startMs + 0.5, ms: 0.25 },
        { kind: "attention", stage: 0, startMs: startMs + 0.75, ms: 2.0004 },
        { kind: "feed-forward", stage: 0, startMs: startMs + 2.7504, ms: 1 },
        { kind: "output", stage: LAYERS, startMs: startMs + 15, ms: 4 },
      ],
    },
  ];
}

/** A recorder that has seen one prefill and so many decode sweeps, one every 25 ms. */
export function recorderOf(decodes: number): Recorder {
  const recorder = new Recorder("run");
  recorder.model = {
    name: "A model",
    architecture: "llama",
    layers: LAYERS,
    dtype: "q8",
    cache: "/cache/a",
    threads: 2,
    kvType: "f16",
    contextLength: 512,
    direct: true,
    ringBytes: 1e6,
    residentBytes: 0,
    streamedBytes: 6000,
  };
  recorder.circumstances = { streamedBytes: 6000, residentBytes: 0, roomBytes: 6000, disk: 1e6 };
  const start = performance.now();
  recorder.span("load", start, start + 5);
  for (let sweep = 0; sweep <= decodes; sweep++) {
    const at = start + 10 + 25 * sweep;
    const kind = sweep === 0 ? "prefill" : "decode";
    recorder.sweep(kind, sweepAt(at, sweep === 0 ? 7 : 1), () => lanesAt(at));
    recorder.span("sample", at + 20, at + 21);
  }
  recorder.stop();
  return recorder;
}

/** With everything in it that a recording can have. */
export function fullRecording(): Recording {
  const recorder = recorderOf(5);
  recorder.unpack.begin();
  for (const file of ["embedding.bin", "layer-00.bin"]) {
    recorder.unpack.fileBegins();
    recorder.unpack.fileDone({
      ...{ file, bytes: 5000, stored: 4096 },
      timing: { readMs: 0, dequantizeMs: 0, encodeMs: 0 },
      tensors: [{ name: "attn_q", bytes: 5000, readMs: 0, dequantizeMs: 0, encodeMs: 0 }],
    });
  }
  recorder.unpack.end(true);
  const recording = recorder.recording();
  const skipped = { sweeps: 3, rows: 3, ms: 60 };
  return { ...recording, skipped, machine: { ...recording.machine, disk: 1e6, arithmetic: 2e6 } };
}
