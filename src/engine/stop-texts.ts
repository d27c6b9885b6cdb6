import { SluiceError } from "../errors.ts";

/**
 * Watches a text that comes in pieces for texts that end it. What might become one is held back until it is certain
 * that it does not, or that it does: then it is never given out. The one that is complete first counts, and of those
 * the longest: however the text is cut into pieces, it ends at the same place.
 */
export class StopTexts {
  readonly #texts: readonly string[];
  #held = "";
  #found: string | undefined;

  /** @throws SluiceError `bad-input` where one of them is empty */
  constructor(texts: readonly string[]) {
    if (texts.includes("")) throw new SluiceError("bad-input", "a text to stop at is empty");
    this.#texts = texts;
  }

  /** The text that was found; nothing is given out after it. */
  get found(): string | undefined {
    return this.#found;
  }

  /** @returns what is certain now */
  push(piece: string): string {
    if (this.#found !== undefined) return "";
    const text = this.#held + piece;
    this.#held = "";
    const [first] = this.#foundIn(text);
    if (first !== undefined) {
      this.#found = first.stop;
      return text.slice(0, first.at);
    }
    const certain = text.length - this.#possible(text);
    this.#held = text.slice(certain);
    return text.slice(0, certain);
  }

  /** The text ends here. @returns what was held back */
  end(): string {
    const held = this.#found === undefined ? this.#held : "";
    this.#held = "";
    return held;
  }

  #foundIn(text: string): { readonly stop: string; readonly at: number }[] {
    return this.#texts
      .map((stop) => ({ stop, at: text.indexOf(stop) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at + a.stop.length - (b.at + b.stop.length) || a.at - b.at);
  }

  /** Length of the longest end of `text` that is the beginning of a text to stop at. */
  #possible(text: string): number {
    let longest = 0;
    for (const stop of this.#texts)
      for (let length = Math.min(stop.length - 1, text.length); length > longest; length--)
        if (text.endsWith(stop.slice(0, length))) longest = length;
    return longest;
  }
}
