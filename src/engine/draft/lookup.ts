import type { Draft } from "./types.ts";

/** Tokens that have to be the same before a place is taken for a repetition. */
const SHORTEST = 2;
/** Longer ones are no better sign than this. */
const LONGEST = 8;
/** Places that are looked at, the latest ones first. */
const PLACES = 64;

/**
 * Guesses by looking up where the text has been like this before (prompt lookup; the n-grams of arXiv 2304.04487): what
 * followed there may follow here. Good for summaries, edits, code and lists, and costs next to nothing.
 */
export class Lookup implements Draft {
  readonly name = "lookup";
  #tokens: number[] = [];
  /** By two tokens: where they stand last, as the place behind them. */
  readonly #latest = new Map<number, number>();
  /** For each place: where the two tokens before it stand the time before; 0: nowhere. */
  #earlier: number[] = [];
  /** What is behind the longest repetition. */
  #found = 0;

  look(tokens: readonly number[]): string | undefined {
    this.#read(tokens);
    let longest = 0;
    let place = this.#earlier[tokens.length] ?? 0;
    for (let looks = 0; place > 0 && looks < PLACES && longest < LONGEST; looks++) {
      const length = this.#common(place);
      if (length > longest) {
        longest = length;
        this.#found = place;
      }
      place = this.#earlier[place];
    }
    return longest < SHORTEST ? undefined : `${longest}`;
  }

  propose(most: number): readonly number[] {
    const ids = this.#tokens.slice(this.#found, this.#found + most);
    // A text that repeats itself goes on repeating itself.
    while (ids.length < most) ids.push(ids[ids.length - (this.#tokens.length - this.#found)]);
    return ids;
  }

  /** Take in what is new of a text. */
  #read(tokens: readonly number[]): void {
    const known = this.#tokens;
    if (known.length > tokens.length || known.some((token, index) => token !== tokens[index])) {
      known.length = 0;
      this.#latest.clear();
    }
    for (let index = known.length; index < tokens.length; index++) {
      known.push(tokens[index]);
      if (index === 0) continue;
      const pair = tokens[index - 1] * 2 ** 26 + tokens[index];
      this.#earlier[index + 1] = this.#latest.get(pair) ?? 0;
      this.#latest.set(pair, index + 1);
    }
  }

  /** How many tokens before `place` are those at the end. */
  #common(place: number): number {
    const tokens = this.#tokens;
    let length = 0;
    while (
      length < LONGEST &&
      length < place &&
      tokens[place - 1 - length] === tokens[tokens.length - 1 - length]
    )
      length++;
    return length;
  }
}
