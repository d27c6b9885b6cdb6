import type { SweepTiming } from "../timing/types.ts";
import type { Drafter } from "./draft/drafter.ts";
import { guessedPositions, runGuessed } from "./draft/guessed-run.ts";
import type { Engine } from "./engine.ts";
import type { Row } from "./row-filler.ts";

/** What is timed: the prompt of so many tokens, or so many tokens one after the other; from an empty context. */
export interface BenchmarkTest {
  readonly kind: "pp" | "tg";
  readonly tokens: number;
}

export interface BenchmarkResult {
  readonly test: BenchmarkTest;
  /** Nanoseconds of each repetition. */
  readonly samplesNs: readonly number[];
  /** Of all repetitions. */
  readonly sweeps: readonly SweepTiming[];
}

export interface BenchmarkOptions {
  readonly vocabulary: number;
  readonly repetitions: number;
  readonly signal?: AbortSignal | undefined;
  /** Who guesses ahead in `tg`, and with what probability a guessed token is to hold (see `GuessedRun`). */
  readonly drafter?: Drafter | undefined;
  readonly acceptance?: number | undefined;
  /** Done before each repetition, and not timed. */
  readonly prepare?: () => Promise<void>;
  /** Called with the repetition (0: the one that warms up) and the tokens done in it. */
  readonly onProgress?: (repetition: number, tokens: number) => void;
}

/** Tokens in which guessing finds its pace. */
const WARMING_GUESSES = 32;

/**
 * Time one test, with tokens that are any, after a repetition that warms up (one token of it for `tg`).
 *
 * @throws SluiceError `aborted`, and those of `Engine.sweep`
 */
export async function benchmark(
  engine: Engine,
  test: BenchmarkTest,
  { vocabulary, repetitions, signal, prepare, onProgress, drafter, acceptance }: BenchmarkOptions,
): Promise<BenchmarkResult> {
  const guesses = drafter !== undefined && test.kind === "tg";
  const sequence = engine.createSequence(guesses ? guessedPositions(test.tokens) : test.tokens);
  const kind = test.kind === "pp" ? "prefill" : "decode";
  const logits = [new Float32Array(vocabulary)];
  const rowsInSweep = test.kind === "pp" ? engine.maximumRows : 1;
  /** Sweeps of the first `tokens` tokens; only the last one of each sweep of a prompt's end has logits. */
  const run = async (tokens: number, repetition: number): Promise<SweepTiming[]> => {
    sequence.truncate(0);
    const sweeps: SweepTiming[] = [];
    for (let done = 0; done < tokens; ) {
      const count = Math.min(rowsInSweep, tokens - done);
      const rows = Array.from({ length: count }, (_, index): Row => {
        const position = done + index;
        const last = index === count - 1 && (test.kind === "tg" || position === tokens - 1);
        return { sequence, position, token: anyToken(position, vocabulary), logits: last };
      });
      onProgress?.(repetition, done);
      // Warming up is no part of what is measured.
      const observed = repetition > 0 ? kind : undefined;
      sweeps.push((await engine.sweep(rows, { signal, kind: observed, logits })).timing);
      done += count;
    }
    return sweeps;
  };

  const timed = async (tokens: number, repetition: number) => {
    if (!guesses) {
      const start = performance.now();
      const done = await run(tokens, repetition);
      return { ms: performance.now() - start, sweeps: done };
    }
    return runGuessed(engine, sequence, tokens, {
      ...{ drafter, vocabulary, acceptance, signal, observed: repetition > 0 },
      onProgress: (done) => onProgress?.(repetition, done),
    });
  };

  const samplesNs: number[] = [];
  const sweeps: SweepTiming[] = [];
  try {
    const start = performance.now();
    await timed(test.kind === "pp" ? test.tokens : Math.min(test.tokens, guesses ? WARMING_GUESSES : 1), 0);
    engine.observer?.span(kind, start, performance.now());
    for (let repetition = 1; repetition <= repetitions; repetition++) {
      await prepare?.();
      const { ms, sweeps: done } = await timed(test.tokens, repetition);
      sweeps.push(...done);
      samplesNs.push(Math.round(ms * 1e6));
    }
  } finally {
    sequence.truncate(0);
  }
  return { test, samplesNs, sweeps };
}

/** Tokens all over the vocabulary, the same each time (Knuth's multiplicative hashing). */
function anyToken(position: number, vocabulary: number): number {
  return (Math.imul(position + 1, 2654435761) >>> 0) % vocabulary;
}
