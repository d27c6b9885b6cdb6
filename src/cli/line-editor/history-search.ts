import type { History } from "./history.ts";

/** A search of the history while it is typed, from the newest entry back: Ctrl-R. */
export class HistorySearch {
  readonly #history: History;
  #part = "";
  /** Finds that were passed over. */
  #skip = 0;

  constructor(history: History) {
    this.#history = history;
  }

  get prompt(): string {
    const failed = this.#part !== "" && this.found === undefined;
    return `(${failed ? "failed search" : "search"}: ${this.#part}) `;
  }

  /** The entry that it is at; undefined where there is none. */
  get found(): string | undefined {
    return this.#part === "" ? undefined : this.#history.search(this.#part, this.#skip);
  }

  /** Take a key. Any that is not for the search takes what was found, and then means what it always means. */
  key(typed: string | undefined, name: string): "searching" | "taken" | "given up" {
    if (name === "ctrl+g" || name === "ctrl+c" || name === "escape") return "given up";
    if (name === "ctrl+r") {
      this.#skip += 1;
      if (this.found === undefined) this.#skip -= 1;
    } else if (name === "backspace") this.#look(this.#part.slice(0, -1));
    else if (typed !== undefined && !/^\p{Cc}/u.test(typed)) this.#look(this.#part + typed);
    else return "taken";
    return "searching";
  }

  #look(part: string): void {
    this.#part = part;
    this.#skip = 0;
  }
}
