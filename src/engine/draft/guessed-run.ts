import type { DecodeTiming } from "../../timing/types.ts";
import type { Engine } from "../engine.ts";
import type { Sequence } from "../kv-sequence.ts";
import { createRandom } from "../random.ts";
import type { Row } from "../row-filler.ts";
import { createSampler } from "../sampler.ts";
import { ALONE } from "../tiles.ts";
import type { Drafter } from "./drafter.ts";
import { MAXIMUM_DRAFT } from "./types.ts";

/** Tokens of the text before the ones that are timed, and after how many it repeats itself. */
const BEGINNING = 32;
const PERIOD = 16;

export interface GuessedRun {
  readonly drafter: Drafter;
  readonly vocabulary: number;
  /**
   * Whether a guessed token holds is left to chance, with this probability, and the text then goes on with it: all of the
   * work is done, whatever the model says. Absent: the truth decides.
   */
  readonly acceptance?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly observed: boolean;
  readonly onProgress?: (tokens: number) => void;
}

/** Positions that so many tokens take. */
export function guessedPositions(tokens: number): number {
  return BEGINNING + tokens;
}

/**
 * Generate so many tokens as a session does, after a text that repeats itself.
 *
 * @param sequence of `guessedPositions`
 * @returns milliseconds, without those of the text before, and the sweeps
 */
export async function runGuessed(
  engine: Engine,
  sequence: Sequence,
  tokens: number,
  { drafter, vocabulary, acceptance, signal, observed, onProgress }: GuessedRun,
): Promise<{ readonly ms: number; readonly sweeps: readonly DecodeTiming[] }> {
  const sampler = createSampler({ temperature: 0 });
  const random = createRandom(tokens);
  const logits = Array.from({ length: MAXIMUM_DRAFT + 1 }, () => new Float32Array(vocabulary));
  const text = Array.from({ length: BEGINNING }, (_, position) => usualToken(position, vocabulary));
  const rowAt = (position: number, token: number, asks: boolean): Row => ({
    sequence,
    position,
    token,
    logits: asks,
  });
  sequence.truncate(0);
  const before = text.slice(0, -1).map((token, position) => rowAt(position, token, false));
  await engine.sweep(before, { signal });

  const kind = observed ? "decode" : undefined;
  const sweeps: DecodeTiming[] = [];
  const end = BEGINNING + tokens;
  const start = performance.now();
  while (text.length < end) {
    onProgress?.(text.length - BEGINNING);
    const guessing = performance.now();
    const guess = await drafter.propose(text, end - text.length - 1, { sequence, sampler, signal });
    const guessMs = guess.length > 0 ? performance.now() - guessing : 0;
    if (observed && guess.length > 0)
      engine.observer?.span("guess", guessing, guessing + guessMs, guess.length);
    const first = text.length - 1;
    const rows = [text[first], ...guess].map((token, index) => rowAt(first + index, token, true));
    const { timing } = await engine.sweep(rows, { kind, signal, logits, tiles: ALONE });
    let held = 0;
    for (;;) {
      const said = sampler.sample(logits[held], text);
      const holds =
        held < guess.length && (acceptance === undefined ? said === guess[held] : random() < acceptance);
      if (holds) text.push(guess[held++]);
      else {
        text.push(acceptance === undefined ? said : usualToken(text.length, vocabulary));
        break;
      }
    }
    drafter.learn(timing.ms, held, Math.min(held + 1, guess.length));
    sequence.truncate(text.length - 1);
    const guesses = { tokens: held + 1, guessed: guess.length, held, guessMs };
    if (observed && guess.length > 0) engine.observer?.verified?.(guesses);
    sweeps.push({ ...timing, ...guesses });
  }
  return { ms: performance.now() - start, sweeps };
}

/** Tokens all over the vocabulary, in turn (Knuth's multiplicative hashing). */
function usualToken(position: number, vocabulary: number): number {
  return (Math.imul((position % PERIOD) + 1, 2654435761) >>> 0) % vocabulary;
}
