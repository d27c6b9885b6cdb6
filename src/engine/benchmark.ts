import type { SweepTiming } from "../timing/types.ts";
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
  /** Done before each repetition, and not timed. */
  readonly prepare?: () => Promise<void>;
  /** Called with the repetition (0: the one that warms up) and the tokens done in it. */
  readonly onProgress?: (repetition: number, tokens: number) => void;
}

/**
 * Time one test, with tokens that are any, after a repetition that warms up (one token of it for `tg`).
 *
 * @throws SluiceError `aborted`, and those of `Engine.sweep`
 */
export async function benchmark(
  engine: Engine,
  test: BenchmarkTest,
  { vocabulary, repetitions, signal, prepare, onProgress }: BenchmarkOptions,
): Promise<BenchmarkResult> {
  const sequence = engine.createSequence(test.tokens);
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

  const samplesNs: number[] = [];
  const sweeps: SweepTiming[] = [];
  try {
    const start = performance.now();
    await run(test.kind === "pp" ? test.tokens : 1, 0);
    engine.observer?.span(kind, start, performance.now());
    for (let repetition = 1; repetition <= repetitions; repetition++) {
      await prepare?.();
      const start = performance.now();
      sweeps.push(...(await run(test.tokens, repetition)));
      samplesNs.push(Math.round((performance.now() - start) * 1e6));
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
