import type { Guesses, StageTiming, SweepTiming } from "./types.ts";

/** Stages added up over several sweeps: how often each was run through, and its bytes and times in all. */
export interface StageSums {
  readonly sweeps: number;
  /** Tokens of the text that all of them brought: of a prompt its rows, of an answer those that were chosen. */
  readonly tokens: number;
  /** Tokens that were guessed before them, and those of these that held. */
  readonly guessed: number;
  readonly held: number;
  /** Milliseconds of guessing, before the sweeps. */
  readonly guessMs: number;
  /** Milliseconds of all sweeps from start to end. */
  readonly ms: number;
  readonly embedding: StageTiming;
  readonly layers: readonly StageTiming[];
  readonly output: StageTiming;
}

/** What of a sweep is added up. */
export type Summable = Pick<SweepTiming, "rows" | "ms" | "embedding" | "layers" | "output"> &
  Partial<Pick<SweepTiming, "handoverMs" | "threadStartMs"> & Guesses>;

/** Add up the stages of sweeps over one model. No sweeps give no layers and zeros. */
export function sumStages(sweeps: readonly Summable[]): StageSums {
  const layers = sweeps[0]?.layers ?? [];
  return {
    sweeps: sweeps.length,
    tokens: sweeps.reduce((sum, { tokens, rows }) => sum + (tokens ?? rows), 0),
    guessed: sweeps.reduce((sum, { guessed = 0 }) => sum + guessed, 0),
    held: sweeps.reduce((sum, { held = 0 }) => sum + held, 0),
    guessMs: sweeps.reduce((sum, { guessMs = 0 }) => sum + guessMs, 0),
    ms: sweeps.reduce((sum, sweep) => sum + sweep.ms, 0),
    embedding: sumTimings(sweeps.map((sweep) => sweep.embedding)),
    layers: layers.map((_, index) => sumTimings(sweeps.map((sweep) => sweep.layers[index]))),
    output: sumTimings(sweeps.map((sweep) => sweep.output)),
  };
}

/** One timing that holds the sums of several. */
export function sumTimings(timings: readonly StageTiming[]): Required<StageTiming> {
  const sum = { bytes: 0, readMs: 0, waitMs: 0, computeMs: 0, attentionMs: 0, feedForwardMs: 0 };
  for (const timing of timings) {
    sum.bytes += timing.bytes;
    sum.readMs += timing.readMs;
    sum.waitMs += timing.waitMs;
    sum.computeMs += timing.computeMs;
    sum.attentionMs += timing.attentionMs ?? 0;
    sum.feedForwardMs += timing.feedForwardMs ?? 0;
  }
  return sum;
}

/** How many of something in a second; 0 where no time went by, so that it can be printed and written as JSON. */
export function perSecond(count: number, ms: number): number {
  return ms > 0 ? (count * 1000) / ms : 0;
}
