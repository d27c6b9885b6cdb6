/**
 * A recording: where the time of one run of sluice went. What `--timings FILE.json` writes, and what reports, tables and
 * traces are made from. The format is told in docs/timing.md; readers refuse a version that they do not know.
 *
 * Times are milliseconds since the recording began, lengths of time are milliseconds, sizes are bytes.
 */
import type { Verdict } from "./verdict.ts";

export const RECORDING_FORMAT = "sluice-timings";
export const RECORDING_VERSION = 1;

export interface Recording {
  readonly format: typeof RECORDING_FORMAT;
  readonly version: typeof RECORDING_VERSION;
  /** Version of sluice that wrote it. */
  readonly sluice: string;
  /** When it began, ISO 8601. */
  readonly began: string;
  /** From beginning to end. */
  readonly ms: number;
  /** The command, for people: "run", "chat", … */
  readonly command: string;
  readonly machine: RecordedMachine;
  /** Absent where no model was opened. */
  readonly model?: RecordedModel;
  /** What was done, in order, without overlaps; what no span covers is the program's own time. */
  readonly spans: readonly Span[];
  readonly unpack?: RecordedUnpack;
  readonly sweeps: readonly RecordedSweep[];
  /** Sweeps of a long run that were left out half-way through `sweeps`, in all; their spans are joined. */
  readonly skipped?: { readonly sweeps: number; readonly rows: number; readonly ms: number };
  /** The course of some sweeps in detail: the first prefill, the first decode sweeps, and the last. */
  readonly timelines: readonly Timeline[];
  /** About ten a second at most, fewer in long runs. */
  readonly memory: readonly MemorySample[];
  readonly peakRssBytes: number;
  /** What limited the decode sweeps. */
  readonly verdict?: Verdict;
}

export interface RecordedMachine {
  readonly cpu: string;
  readonly processors: number;
  readonly memoryBytes: number;
  readonly node: string;
  readonly platform: string;
  /** Bytes per second of the disk as it is read here, and of weights in memory through the arithmetic, where measured. */
  readonly disk?: number;
  readonly arithmetic?: number;
}

export interface RecordedModel {
  readonly name: string;
  readonly architecture: string;
  readonly layers: number;
  readonly dtype: string;
  /** Folder of the unpacked model. */
  readonly cache: string;
  readonly threads: number;
  readonly kvType: string;
  readonly contextLength: number;
  /** Read past the page cache. */
  readonly direct: boolean;
  readonly ringBytes: number;
  readonly residentBytes: number;
  readonly streamedBytes: number;
}

export type SpanName =
  | "unpack"
  | "load"
  | "template"
  | "tokenize"
  | "prefill"
  | "guess"
  | "decode"
  | "sample";

export interface Span {
  readonly name: SpanName;
  readonly startMs: number;
  readonly ms: number;
  /** Tokens that went through it, where that means something. */
  readonly tokens?: number;
}

export interface RecordedUnpack {
  /** What was made. */
  readonly model?: Pick<RecordedModel, "name" | "architecture" | "layers" | "dtype" | "cache">;
  /** Before the first file: header, plan, tokenizer, lock, and a look at what an earlier run has left. */
  readonly prepareMs?: number;
  /** After the last file: manifest, and putting everything in its place. */
  readonly finishMs?: number;
  readonly files: readonly RecordedFile[];
}

/** One file of the cache being made. */
export interface RecordedFile {
  readonly name: string;
  readonly startMs: number;
  readonly ms: number;
  /** Uncompressed, and as stored. */
  readonly bytes: number;
  readonly stored: number;
  readonly readMs: number;
  readonly dequantizeMs: number;
  readonly encodeMs: number;
  readonly writeMs: number;
  /** The same for each tensor, without what only the file as a whole knows. */
  readonly tensors: readonly {
    readonly name: string;
    readonly bytes: number;
    readonly readMs: number;
    readonly dequantizeMs: number;
    readonly encodeMs: number;
  }[];
}

export interface RecordedSweep {
  readonly kind: "prefill" | "decode";
  readonly startMs: number;
  readonly ms: number;
  /** Tokens that went through. */
  readonly rows: number;
  readonly embedding: RecordedStage;
  readonly layers: readonly RecordedStage[];
  readonly output: RecordedStage;
  /** Starting or waking the threads, and getting the logits back from them. */
  readonly handoverMs?: number;
  /** The part of it in which the threads were started and loaded their code: in the first sweep of a process only. */
  readonly threadStartMs?: number;
  /** Choosing the token from the logits, after the sweep. */
  readonly sampleMs: number;
  /** Of a decode sweep for which tokens were guessed: tokens that it brought, and what came of the guess (see `Guesses`). */
  readonly tokens?: number;
  readonly guessed?: number;
  readonly held?: number;
  readonly guessMs?: number;
}

export interface RecordedStage {
  readonly bytes: number;
  /** Reads, beside the computing of what came before. */
  readonly readMs: number;
  /** Computing stood still, waiting for bytes. */
  readonly waitMs: number;
  /** Arithmetic; in layers the sum of the two below. */
  readonly computeMs: number;
  readonly attentionMs?: number;
  readonly feedForwardMs?: number;
}

export interface Timeline {
  /** Index into `sweeps`. */
  readonly sweep: number;
  readonly lanes: readonly Lane[];
}

export interface Lane {
  /** "reader", "compute 0", … */
  readonly thread: string;
  readonly events: readonly LaneEvent[];
}

export interface LaneEvent {
  readonly kind: "read" | "wait" | "attention" | "feed-forward" | "output";
  /** Layer, or the number of layers for the output. */
  readonly stage: number;
  readonly startMs: number;
  readonly ms: number;
  readonly bytes?: number;
}

export interface MemorySample {
  readonly atMs: number;
  readonly rssBytes: number;
}
