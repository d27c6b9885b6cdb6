import type { Lane, SpanName } from "./recording.ts";

/** Time of one stage of a sweep: the embedding, a layer, or the output matrix. */
export interface StageTiming {
  /** Bytes read from disk for it. */
  readonly bytes: number;
  /** Milliseconds that its reads took (they overlap with the computing of what came before). */
  readonly readMs: number;
  /** Milliseconds that the computing stood still, waiting for its bytes. */
  readonly waitMs: number;
  /** Milliseconds of arithmetic; in layers the sum of the two below. */
  readonly computeMs: number;
  readonly attentionMs?: number;
  readonly feedForwardMs?: number;
}

/** Time of one sweep: all layers over a batch of rows. */
export interface SweepTiming {
  /** When it began, as `performance.now()` of the main thread. */
  readonly startMs: number;
  /** Rows (tokens) that went through. */
  readonly rows: number;
  readonly ms: number;
  readonly embedding: StageTiming;
  readonly layers: readonly StageTiming[];
  /** All zero where no row asked for logits. */
  readonly output: StageTiming;
  /** Milliseconds for starting or waking the threads, and for getting the logits back from them. */
  readonly handoverMs: number;
  /** The part of it in which the threads were started and loaded their code; absent where they were there already. */
  readonly threadStartMs?: number;
}

/** What a sweep of an answer brought. */
export interface Guesses {
  /** Tokens of the answer that it gave: one, and those that were guessed right. */
  readonly tokens: number;
  /** Tokens that were guessed for it, those of them that held, and the milliseconds that guessing took before. */
  readonly guessed: number;
  readonly held: number;
  readonly guessMs: number;
}

/** Time of a sweep of an answer. */
export type DecodeTiming = SweepTiming & Guesses;

export type SweepKind = "prefill" | "decode";

/** Is told what takes time, as soon as it is over. Times as `performance.now()` of the main thread. */
export interface Observer {
  span(name: SpanName, start: number, end: number, tokens?: number): void;
  /** @param lanes what each thread did in it, when that is asked for; stays valid */
  sweep(kind: SweepKind, timing: SweepTiming, lanes: () => Lane[]): void;
  /** What came of the last decode sweep, for which tokens were guessed. */
  verified?(outcome: Guesses): void;
}
