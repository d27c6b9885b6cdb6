import { cpus, totalmem } from "node:os";
import { version } from "../version.ts";
import { KeptSweeps, type NotedSweep } from "./kept-sweeps.ts";
import { MemorySamples } from "./memory-samples.ts";
import type { RecordedModel, Recording, Span, SpanName } from "./recording.ts";
import { RECORDING_FORMAT, RECORDING_VERSION } from "./recording.ts";
import { roundTimes } from "./round-times.ts";
import type { Guesses, Observer, SweepKind, SweepTiming } from "./types.ts";
import { UnpackRecorder } from "./unpack-recorder.ts";
import { type Circumstances, judge } from "./verdict.ts";

/** Beyond so many spans, those of one answer become one. */
const MOST_SPANS = 8192;
/** The latest ones stay as they are. */
const LATEST_SPANS = 2048;

/**
 * Collects where the time of one run goes. Always on: all it does for a sweep is to keep what there is already, and it
 * holds no more than a few megabytes, however long the run.
 */
export class Recorder implements Observer {
  readonly unpack: UnpackRecorder;
  /** What was opened, where something was. */
  model: RecordedModel | undefined;
  /** What the decode sweeps are held against; absent: no verdict. */
  circumstances: Circumstances | undefined;
  readonly #command: string;
  readonly #start = performance.now();
  readonly #began = new Date();
  #end: number | undefined;
  #peakRssBytes = 0;
  #spans: Span[] = [];
  readonly #sweeps = new KeptSweeps();
  readonly #memory = new MemorySamples();

  /** @param command for people: "run", "chat", … */
  constructor(command: string) {
    this.#command = command;
    this.unpack = new UnpackRecorder((start, end) => this.span("unpack", start, end));
  }

  span(name: SpanName, start: number, end: number, tokens?: number): void {
    this.#end = undefined;
    this.#memory.resume();
    if (name === "sample") this.#sweeps.sampled(end - start);
    this.#spans.push({ name, startMs: start, ms: end - start, ...(tokens !== undefined && { tokens }) });
    if (this.#spans.length > MOST_SPANS) this.#spans = joined(this.#spans);
  }

  sweep(kind: SweepKind, timing: SweepTiming, lanes: NotedSweep["lanes"]): void {
    this.#sweeps.add({ kind, timing, lanes });
    this.span(kind, timing.startMs, timing.startMs + timing.ms, timing.rows);
  }

  verified(guesses: Guesses): void {
    this.#sweeps.verified(guesses);
    const last = this.#spans.findLastIndex(({ name }) => name === "decode");
    if (last >= 0) this.#spans[last] = { ...this.#spans[last], tokens: guesses.tokens };
  }

  /** What was recorded so far. Sweeps that are at work are not in it yet. */
  recording(): Recording {
    const end = this.#end ?? performance.now();
    const { sweeps, timelines, skipped } = this.#sweeps.recorded(this.#start);
    const decode = sweeps.filter(({ kind }) => kind === "decode");
    const verdict = this.circumstances && judge(decode, this.circumstances);
    const { disk, arithmetic } = this.circumstances ?? {};
    const unpack = this.unpack.recorded(this.#start);
    return roundTimes({
      format: RECORDING_FORMAT,
      version: RECORDING_VERSION,
      sluice: version(),
      began: this.#began.toISOString(),
      ms: end - this.#start,
      command: this.#command,
      machine: {
        cpu: cpus()[0]?.model ?? "",
        processors: cpus().length,
        memoryBytes: totalmem(),
        node: process.version,
        platform: `${process.platform} ${process.arch}`,
        ...(disk !== undefined && { disk }),
        ...(arithmetic !== undefined && { arithmetic }),
      },
      ...(this.model && { model: this.model }),
      spans: this.#spans
        .map((span) => ({ ...span, startMs: span.startMs - this.#start }))
        .sort((a, b) => a.startMs - b.startMs),
      ...(unpack && { unpack }),
      sweeps,
      ...(skipped && { skipped }),
      timelines,
      memory: this.#memory.samples(this.#start),
      peakRssBytes: this.#end === undefined ? peakRssBytes() : this.#peakRssBytes,
      ...(verdict && { verdict }),
    });
  }

  /** Here the run ends, unless more comes: what follows counts neither in its time nor in its memory. */
  stop(): void {
    if (this.#end !== undefined) return;
    this.#end = performance.now();
    this.#peakRssBytes = peakRssBytes();
    this.#memory.stop();
  }
}

function peakRssBytes(): number {
  // maxRSS is in kilobytes on every platform.
  return process.resourceUsage().maxRSS * 1024;
}

/** Runs of decoding and sampling become one span of decoding each, but for the latest. */
function joined(spans: readonly Span[]): Span[] {
  const early = spans.slice(0, -LATEST_SPANS);
  const result: Span[] = [];
  for (const span of early) {
    const last = result[result.length - 1];
    const between = span.name === "sample" || span.name === "guess";
    const joins = span.name === "decode" || (between && last?.name === "decode");
    if (!joins || last?.name !== "decode") result.push(span);
    else
      result[result.length - 1] = {
        ...last,
        ms: span.startMs + span.ms - last.startMs,
        tokens: (last.tokens ?? 0) + (span.name === "guess" ? 0 : (span.tokens ?? 0)),
      };
  }
  return [...result, ...spans.slice(-LATEST_SPANS)];
}
