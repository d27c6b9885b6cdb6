import type { Sequence } from "../kv-sequence.ts";
import type { Sampler } from "../sampler.ts";

/** Guesses what a model will say next. What is wrong with a guess costs time only: every token is verified. */
export interface Draft {
  /** As it is called in reports. */
  readonly name: string;
  /**
   * Take a look at a text before a guess is wanted.
   *
   * @param tokens the text so far; it goes on from what was seen before, or is another one
   * @returns what the guess would go by: guesses that go by the same thing are about as likely to hold; undefined where it
   *   has no idea
   */
  look(tokens: readonly number[]): string | undefined;
  /**
   * Guess what follows the text that it has looked at last.
   *
   * @param most tokens, 1 at least
   * @returns up to so many ids
   */
  propose(most: number, context: DraftContext): readonly number[] | Promise<readonly number[]>;
}

export interface DraftContext {
  /** Keys and values of all tokens of the text but the last one; what a draft leaves behind them is overwritten. */
  readonly sequence: Sequence;
  /**
   * Chooses from logits as the answer is going to, with the same random numbers: the more a draft's logits are like the
   * model's, the more often both choose the same.
   */
  readonly sampler: Sampler;
  readonly signal?: AbortSignal | undefined;
}

/** What came of guesses. */
export interface DraftCounts {
  readonly draft: string;
  /** Tokens that were guessed and computed. */
  readonly proposed: number;
  /** Those of them that the model then said. */
  readonly accepted: number;
  /** Milliseconds that guessing took. */
  readonly ms: number;
}

/** Tokens that are guessed for one sweep at most. */
export const MAXIMUM_DRAFT = 16;

/** What came of several answers. */
export function sumDrafts(counts: readonly DraftCounts[]): DraftCounts[] {
  const sums = new Map<string, DraftCounts>();
  for (const { draft, proposed, accepted, ms } of counts) {
    const sum = sums.get(draft) ?? { draft, proposed: 0, accepted: 0, ms: 0 };
    sums.set(draft, {
      draft,
      proposed: sum.proposed + proposed,
      accepted: sum.accepted + accepted,
      ms: sum.ms + ms,
    });
  }
  return [...sums.values()];
}
