import { isColourful, styled } from "./colour.ts";
import { textWidth } from "./text-width.ts";

/** Milliseconds between two paintings, and of silence after text before a status shows: fast models need none. */
const PAINT_EVERY = 100;
const SHOW_AFTER = 300;

/** What of a terminal's stream is needed. */
export interface LiveStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

type Statuses = () => readonly string[];

/**
 * A status below whatever was printed last, for as long as nothing else is printed. It stays within its line, is
 * painted ten times a second at most, and does nothing where the stream is no terminal. Where text comes slowly it
 * comes back behind each piece of it, so that it does not flicker.
 */
export class LiveLine {
  readonly #stream: LiveStream;
  readonly #active: boolean;
  readonly #colour: boolean;
  readonly #now: () => number;
  #column = 0;
  #visible = false;
  #statuses: Statuses | undefined;
  #lastPaint = 0;
  #lastText: number;

  constructor(
    stream: LiveStream,
    {
      active = isLively(stream),
      colour = isColourful(stream),
      now = () => performance.now(),
    }: { active?: boolean; colour?: boolean; now?: () => number } = {},
  ) {
    this.#stream = stream;
    this.#active = active;
    this.#colour = colour;
    this.#now = now;
    this.#lastText = now();
  }

  /** Show the first of these statuses that fits, if it is time for one. They are asked for only then. */
  show(statuses: Statuses): void {
    const now = this.#now();
    if (!this.#active || now - this.#lastPaint < PAINT_EVERY || now - this.#lastText < SHOW_AFTER) return;
    this.#paint(statuses);
  }

  /** Erase the status. To be called before anything else is printed. */
  clear(): void {
    if (this.#visible) this.#stream.write(ERASE_BELOW);
    this.#visible = false;
  }

  /**
   * Say where the cursor is after something was printed on this terminal.
   *
   * @param stale whether the last status says nothing any more
   */
  printed(column: number, stale = false): void {
    this.#column = column;
    const now = this.#now();
    const slow = now - this.#lastText >= SHOW_AFTER;
    this.#lastText = now;
    if (this.#active && slow && !stale && this.#statuses) this.#paint(this.#statuses);
    else this.#statuses = undefined;
  }

  #paint(statuses: Statuses): void {
    this.clear();
    this.#statuses = statuses;
    this.#lastPaint = this.#now();
    const columns = this.#stream.columns ?? 80;
    const status = statuses().find((candidate) => textWidth(candidate) < columns);
    // A cursor behind the last column would lose its place on the way down and up.
    if (status === undefined || this.#column >= columns) return;
    const shown = this.#colour ? styled("dim", status) : status;
    const below = this.#column > 0 ? [DOWN_AND_UP, "\r\n"] : ["", ""];
    this.#stream.write(`${below[0]}${SAVE_CURSOR}${below[1]}${shown}${RESTORE_CURSOR}`);
    this.#visible = true;
  }
}

const SAVE_CURSOR = "\x1b7";
const RESTORE_CURSOR = "\x1b8";
const ERASE_BELOW = "\x1b[J";
/** Makes the terminal scroll where the cursor is in the last line, before its place is remembered. */
const DOWN_AND_UP = "\x1bD\x1b[A";

/** Whether a stream is a terminal on which lines may move: not where TERM=dumb or CI says otherwise. */
export function isLively(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && process.env["TERM"] !== "dumb" && !process.env["CI"];
}
