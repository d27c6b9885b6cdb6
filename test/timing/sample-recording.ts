/**
 * Recordings as long runs make them, without the run: a model of 36 layers whose reads, waits and arithmetic are played
 * through piece by piece, so that the lanes, the stages and the sums belong together.
 */
import type {
  LaneEvent,
  RecordedFile,
  RecordedStage,
  RecordedSweep,
  Recording,
  Span,
  Timeline,
} from "../../src/timing/recording.ts";
import { judge } from "../../src/timing/verdict.ts";

export interface SampleOptions {
  readonly dtype?: "f32" | "q8";
  readonly layers?: number;
  readonly decode?: number;
  readonly prefill?: boolean;
  readonly unpack?: boolean;
  /** Share of the layers that stay in memory. */
  readonly resident?: number;
  readonly name?: string;
  /** Milliseconds of arithmetic for a megabyte of weights. */
  readonly computeMsPerMegabyte?: number;
}

const DISK = 2.73e9;
const PROMPT = 64;
const THREADS = ["compute 0", "compute 1"];
/** A layer is read in so many pieces; the first of them are the attention's. */
const PIECES = 6;
const ATTENTION_PIECES = 2;

/** Numbers that look random and are the same each time (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const round = (ms: number) => Math.round(ms * 1000) / 1000;

export function sampleRecording(options: SampleOptions = {}): Recording {
  const { dtype = "f32", layers = 36, decode = 39, prefill = true, unpack = true, resident = 0 } = options;
  const { name = "SmolLM3 3B", computeMsPerMegabyte = dtype === "f32" ? 0.036 : 0.058 } = options;
  const random = randomNumbers(layers + decode);
  const layerBytes = Math.round(78_118_912 * (dtype === "f32" ? 4 : 34 / 32));
  const outputBytes = Math.round(layerBytes * 3.36);
  const isResident = (layer: number) => Math.floor((layer + 1) * resident) > Math.floor(layer * resident);
  const kept = Array.from({ length: layers }, (_, layer) => isResident(layer)).filter(Boolean).length;
  const sweeps: RecordedSweep[] = [];
  const timelines: Timeline[] = [];
  const spans: Span[] = [];
  let now = 4;

  const span = (name: Span["name"], ms: number, tokens?: number) => {
    spans.push({ name, startMs: round(now), ms: round(ms), ...(tokens !== undefined && { tokens }) });
    now += ms;
  };
  const files = unpack ? unpackedFiles({ layers, layerBytes, outputBytes, random, startMs: now }) : [];
  if (unpack) span("unpack", files.at(-1)!.startMs + files.at(-1)!.ms - now);
  if (prefill || decode > 0) {
    span("load", 64.2);
    span("template", 3.1);
    span("tokenize", 1.9, PROMPT);
  }

  /** The reader is ahead of the sweep by the ring: about one layer. */
  let readerFree = now;
  const sweep = (kind: RecordedSweep["kind"], rows: number) => {
    const startMs = now;
    const events = { reader: [] as LaneEvent[], compute: THREADS.map((): LaneEvent[] => []) };
    const busy = random() < 0.06 ? 1.5 : 1;
    const stage = (index: number, bytes: number, inMemory: boolean): RecordedStage => {
      let readMs = 0;
      let waitMs = 0;
      const parts = [0, 0];
      for (let piece = 0; piece < PIECES; piece++) {
        let arrived = now;
        if (!inMemory) {
          const took = (bytes / PIECES / DISK) * 1000 * busy * (1.01 + 0.12 * random());
          const began = Math.max(readerFree, now - (layerBytes / DISK) * 1000);
          arrived = began + took;
          readerFree = arrived;
          readMs += took;
          events.reader.push({
            kind: "read",
            stage: index,
            startMs: round(began),
            ms: round(took),
            bytes: Math.round(bytes / PIECES),
          });
        }
        const waited = Math.max(0, arrived - now);
        const perRow = kind === "prefill" ? 1 + 0.16 * (rows - 1) : 1;
        const took =
          (bytes / PIECES / 1e6) *
          computeMsPerMegabyte *
          perRow *
          (0.97 + 0.08 * random() + 0.002 * sweeps.length);
        const part = piece < ATTENTION_PIECES ? 0 : 1;
        for (const lane of events.compute) {
          if (waited > 0) lane.push({ kind: "wait", stage: index, startMs: round(now), ms: round(waited) });
          lane.push({
            kind: index === layers ? "output" : part === 0 ? "attention" : "feed-forward",
            stage: index,
            startMs: round(now + waited),
            ms: round(took * (1 - 0.04 * random())),
          });
        }
        waitMs += waited;
        parts[part] += took;
        now += waited + took;
      }
      return {
        bytes: inMemory ? 0 : bytes,
        readMs: round(readMs),
        waitMs: round(waitMs),
        computeMs: round(parts[0] + parts[1]),
        ...(index < layers && { attentionMs: round(parts[0]), feedForwardMs: round(parts[1]) }),
      };
    };
    const embedding = { bytes: rows * 8192, readMs: 0.21, waitMs: 0.21, computeMs: 0.012 * rows };
    now += embedding.waitMs + embedding.computeMs;
    const stages = Array.from({ length: layers }, (_, layer) => stage(layer, layerBytes, isResident(layer)));
    const output = stage(layers, outputBytes, false);
    const ms = round(now - startMs);
    sweeps.push({
      kind,
      startMs: round(startMs),
      ms,
      rows,
      embedding,
      layers: stages,
      output,
      sampleMs: 0.42,
    });
    spans.push({ name: kind, startMs: round(startMs), ms, tokens: rows });
    span("sample", 0.42, 1);
    const lanes = [
      { thread: "reader", events: events.reader },
      ...THREADS.map((thread, index) => ({ thread, events: events.compute[index] })),
    ];
    const decoded = sweeps.filter((one) => one.kind === "decode").length;
    if (kind === "prefill" || decoded <= 3 || decoded === decode)
      timelines.push({ sweep: sweeps.length - 1, lanes });
  };
  if (prefill) sweep("prefill", PROMPT);
  for (let token = 0; token < decode; token++) sweep("decode", 1);

  const ms = round(now + 6);
  const samples = Math.min(1200, Math.ceil(ms / 100));
  const memory = Array.from({ length: samples }, (_, index) => {
    const atMs = (ms * index) / samples;
    const grown = 92e6 + 50e6 * (1 - Math.exp(-atMs / 900)) + 0.4e6 * sweeps.length * (atMs / ms);
    return { atMs: round(atMs), rssBytes: Math.round(grown + 3e6 * random() + kept * layerBytes) };
  });
  const streamedBytes = layerBytes * (layers - kept) + outputBytes;
  const residentBytes = layerBytes * kept;
  const arithmetic = 1e9 / computeMsPerMegabyte;
  const decodes = sweeps
    .filter(({ kind }) => kind === "decode")
    .map((one) => ({ ...one, layers: [...one.layers] }));
  const verdict = judge(decodes, {
    streamedBytes,
    residentBytes,
    roomBytes: 8.2e9,
    disk: DISK,
    arithmetic,
  });
  return {
    format: "sluice-timings",
    version: 1,
    sluice: "0.1.0",
    began: "2026-03-14T09:26:53.589Z",
    ms,
    command: "run",
    machine: {
      cpu: "AMD EPYC 7763 64-Core Processor",
      processors: 2,
      memoryBytes: 25.2e9,
      node: "v20.20.2",
      platform: "linux x64",
      disk: DISK,
      arithmetic,
    },
    model: {
      name,
      architecture: "smollm3",
      layers,
      dtype,
      cache: `/data/sluice/smollm3-3b-q8_0-e270016821b5-${dtype}`,
      threads: THREADS.length,
      kvType: "f16",
      contextLength: 4096,
      direct: true,
      ringBytes: 17_825_792,
      residentBytes,
      streamedBytes,
    },
    spans,
    ...(unpack && { unpack: { files } }),
    sweeps,
    timelines,
    memory,
    peakRssBytes: Math.max(0, ...memory.map(({ rssBytes }) => rssBytes)) + 1_500_000,
    ...(verdict && { verdict }),
  };
}

const LAYER_TENSORS = [
  "attn_norm",
  "attn_q",
  "attn_k",
  "attn_v",
  "attn_output",
  "ffn_norm",
  "ffn_gate",
  "ffn_up",
  "ffn_down",
];
const TENSOR_SHARES = [0.0001, 0.054, 0.013, 0.013, 0.054, 0.0001, 0.2886, 0.2886, 0.2886];

function unpackedFiles({
  layers,
  layerBytes,
  outputBytes,
  random,
  startMs,
}: {
  layers: number;
  layerBytes: number;
  outputBytes: number;
  random: () => number;
  startMs: number;
}): RecordedFile[] {
  let now = startMs;
  const file = (name: string, bytes: number, tensorNames: readonly string[], shares: readonly number[]) => {
    const tensors = tensorNames.map((tensor, index) => {
      const size = Math.round(bytes * shares[index]);
      const unit = (size / 1e6) * (0.95 + 0.1 * random());
      return {
        name: tensor,
        bytes: size,
        readMs: round(unit * 0.09),
        dequantizeMs: round(unit * 0.21),
        encodeMs: round(unit * 0.16),
      };
    });
    const sum = (part: "readMs" | "dequantizeMs" | "encodeMs") =>
      round(tensors.reduce((total, tensor) => total + tensor[part], 0));
    const work = sum("readMs") + sum("dequantizeMs") + sum("encodeMs");
    const writeMs = round((bytes / 1e6) * 0.55 * (0.9 + 0.2 * random()));
    const made = {
      name,
      startMs: round(now),
      ms: round(Math.max(work, writeMs) + 2),
      bytes,
      stored: bytes,
      readMs: sum("readMs"),
      dequantizeMs: sum("dequantizeMs"),
      encodeMs: sum("encodeMs"),
      writeMs,
      tensors,
    };
    now += made.ms;
    return made;
  };
  return [
    file("embedding", outputBytes, ["token_embd.weight"], [1]),
    ...Array.from({ length: layers }, (_, layer) =>
      file(
        `layer-${`${layer}`.padStart(2, "0")}`,
        layerBytes,
        LAYER_TENSORS.map((tensor) => `blk.${layer}.${tensor}.weight`),
        TENSOR_SHARES,
      ),
    ),
    file("output", 8192, ["output_norm.weight"], [1]),
  ];
}
