import { Pace } from "./pace.ts";
import { type Draft, type DraftContext, type DraftCounts, MAXIMUM_DRAFT } from "./types.ts";

/** What is decided of each round: see `Pace`. */
export type Pacing = Pick<Pace, "choose" | "learn">;

/** Makes the guesses of one session: asks the drafts in turn, and keeps account of what came of it. */
export class Drafter {
  readonly #drafts: readonly Draft[];
  readonly #vocabulary: number;
  readonly #pace: Pacing;
  readonly #counts = new Map<string, { proposed: number; accepted: number; ms: number }>();
  /** The guess that is being verified. */
  #round: { draft: Draft; by: string; ms: number; ids: readonly number[] } | undefined;

  /** @param vocabulary tokens of the model; a guess ends before one that is none of them */
  constructor(drafts: readonly Draft[], vocabulary: number, pace: Pacing = new Pace()) {
    this.#drafts = drafts;
    this.#vocabulary = vocabulary;
    this.#pace = pace;
  }

  /** Of each draft that has made a guess since the account was opened. */
  get counts(): readonly DraftCounts[] {
    return Array.from(this.#counts, ([draft, counts]) => ({ draft, ...counts }));
  }

  openAccount(): void {
    this.#counts.clear();
  }

  /**
   * Guess what follows; the first draft that has an idea does it.
   *
   * @param tokens the text so far
   * @param room tokens that may be guessed at most
   */
  async propose(tokens: readonly number[], room: number, context: DraftContext): Promise<readonly number[]> {
    this.#round = undefined;
    if (room < 1) return [];
    for (const draft of this.#drafts) {
      const start = performance.now();
      const reason = draft.look(tokens);
      if (reason === undefined) continue;
      const by = `${draft.name} ${reason}`.trimEnd();
      const most = this.#pace.choose(by, Math.min(room, MAXIMUM_DRAFT));
      if (most < 1) continue;
      const guess = (await draft.propose(most, context)).slice(0, most);
      const odd = guess.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < this.#vocabulary));
      const ids = odd < 0 ? guess : guess.slice(0, odd);
      if (ids.length === 0) continue;
      this.#round = { draft, by, ms: performance.now() - start, ids };
      return ids;
    }
    return [];
  }

  /**
   * Take note of what became of the guess.
   *
   * @param ms that the sweep took
   * @param held tokens of it that were right, of those that were looked at: all, where the answer did not end in between
   */
  learn(ms: number, held: number, looked: number): void {
    const round = this.#round;
    this.#round = undefined;
    if (round === undefined) {
      this.#pace.learn({ ms, rows: 1 });
      return;
    }
    const { draft, by, ids } = round;
    this.#pace.learn({ ms, rows: ids.length + 1, by, guessMs: round.ms, held, looked });
    const counts = this.#counts.get(draft.name) ?? { proposed: 0, accepted: 0, ms: 0 };
    counts.proposed += ids.length;
    counts.accepted += held;
    counts.ms += round.ms;
    this.#counts.set(draft.name, counts);
  }
}
