import { MAXIMUM_DRAFT } from "./types.ts";

/** How much of what was measured before a round still counts after it. */
const KEEP = 0.95;
/** Of tokens that nothing is known of, so many are taken to have held, of so many. */
const EXPECTED = { held: 1, of: 2 };
/** What one more row is taken to add to a sweep, as a share of it, and how many measurements that is worth. */
const EXPECTED_ROW = { share: 0.02, weight: 2 };
/** Share of all time that guesses may lose, and what they may lose before that is much, in sweeps of one row. */
const MAY_LOSE = 0.02;
const ENTRY = 3;
/** Tokens of a guess that is made only to see whether it would hold by now. */
const TRIAL = 2;

/**
 * Decides how many tokens to guess, by what guesses have brought and cost so far.
 *
 * With k guessed tokens of which each holds with probability a, a sweep gives (1 - a^(k+1)) / (1 - a) tokens (arXiv
 * 2211.17192, equation 1), and takes as long as a sweep of k + 1 rows, and as k guesses. The k with the most tokens a second
 * is taken. What turns out to have been lost against sweeps of one row may never be more than 2 % of the time, beside the
 * few sweeps in which guesses show what they are worth.
 */
export class Pace {
  readonly #held = new Map<string, { held: number; of: number }>();
  readonly #guess = new Map<string, { ms: number; tokens: number }>();
  /** Sums over sweeps, the latest ones counting most: of 1, rows, rows², milliseconds, rows × milliseconds. */
  #sums = [0, 0, 0, 0, 0];
  #lostMs = 0;
  #allMs = 0;

  /**
   * @param by what the guess would go by
   * @param most tokens that there is room for
   * @returns how many to guess; 0: none
   */
  choose(by: string, most: number): number {
    if (this.#sums[0] === 0) return 0;
    const spare = MAY_LOSE * this.#allMs - this.#lostMs;
    if (spare + ENTRY * this.sweepMs(1) < 0) return 0;
    const { held, of } = this.#held.get(by) ?? EXPECTED;
    const rate = held / of;
    const { ms, tokens } = this.#guess.get(by) ?? { ms: 0, tokens: 0 };
    const roundMs = (k: number) => this.sweepMs(k + 1) + (k * ms) / Math.max(1, tokens);
    let best = 0;
    let bestRate = 0;
    let expected = 0;
    for (let k = 0; k <= Math.min(most, MAXIMUM_DRAFT); k++) {
      expected += rate ** k;
      const perMs = expected / roundMs(k);
      if (perMs > bestRate) [best, bestRate] = [k, perMs];
    }
    if (best > 0) return best;
    const trial = Math.min(most, TRIAL);
    return roundMs(trial) - roundMs(0) <= spare ? trial : 0;
  }

  /** What a sweep of so many rows probably takes, in milliseconds: a straight line through the latest ones. */
  sweepMs(rows: number): number {
    const [count, sum, squares, ms, products] = this.#sums;
    const [mean, meanMs] = [sum / count, ms / count];
    const { share, weight } = EXPECTED_ROW;
    const slope = (products - sum * meanMs + weight * share * meanMs) / (squares - sum * mean + weight);
    return Math.max(meanMs / 4, meanMs + Math.max(0, slope) * (rows - mean));
  }

  /**
   * Take note of a sweep.
   *
   * @param by what its guess went by; undefined where there was none
   * @param held tokens of the guess that turned out right, of those that were looked at
   */
  learn(sweep: {
    readonly ms: number;
    readonly rows: number;
    readonly by?: string | undefined;
    readonly guessMs?: number;
    readonly held?: number;
    readonly looked?: number;
  }): void {
    const { ms, rows, by, guessMs = 0, held = 0, looked = 0 } = sweep;
    const entry = [1, rows, rows * rows, ms, rows * ms];
    this.#sums = this.#sums.map((sum, index) => sum * KEEP + entry[index]);
    if (by === undefined) {
      this.#allMs += ms;
      return;
    }
    const before = this.#held.get(by) ?? EXPECTED;
    this.#held.set(by, { held: before.held * KEEP + held, of: before.of * KEEP + looked });
    // A first guess warms up: what it takes says nothing of the others.
    const guess = this.#guess.get(by);
    const usualMs = guess ? guessMs : 0;
    this.#allMs += ms + usualMs;
    this.#lostMs += ms + usualMs - (held + 1) * this.sweepMs(1);
    const { ms: sum, tokens } = guess ?? { ms: 0, tokens: 0 };
    const counted = guess ? rows - 1 : 0;
    this.#guess.set(by, { ms: sum * KEEP + usualMs, tokens: tokens * KEEP + counted });
  }
}
