/** What was typed before, to be had again. */
export class History {
  readonly #entries: string[];
  /** Where the user is in it: as many as there are entries while at what is being typed now. */
  #at: number;
  #typed = "";

  /** @param entries the last one is the newest */
  constructor(entries: readonly string[] = []) {
    this.#entries = [...entries];
    this.#at = this.#entries.length;
  }

  /** Add one, unless it is the newest already; the next look begins behind it. @returns whether it was added */
  add(text: string): boolean {
    const isNew = text.trim() !== "" && text !== this.#entries.at(-1);
    if (isNew) this.#entries.push(text);
    this.#at = this.#entries.length;
    return isNew;
  }

  /** The entry before, or (+1) after the one at hand; undefined at the ends. */
  step(by: -1 | 1, typed: string): string | undefined {
    const next = this.#at + by;
    if (next < 0 || next > this.#entries.length) return undefined;
    if (this.#at === this.#entries.length) this.#typed = typed;
    this.#at = next;
    return this.#entries[next] ?? this.#typed;
  }

  /** The newest entry that holds this, in any case of letters, older than the one found before by `skip` such ones. */
  search(part: string, skip: number): string | undefined {
    const wanted = part.toLowerCase();
    const found = new Set(this.#entries.toReversed().filter((entry) => entry.toLowerCase().includes(wanted)));
    return [...found][skip];
  }
}
