import { columnAfter, textWidth } from "./text-width.ts";

/** Milliseconds between two paintings, and of silence after text before a status shows: fast models need none. */
const PAINT_EVERY = 100;
const SHOW_AFTER = 300;

/** What of a terminal's stream is needed. */
export interface LiveStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/**
 * A status behind whatever was printed last, for as long as nothing else is printed. It stays within its line, is
 * painted ten times a second at most, and does nothing where the stream is no terminal.
 */
export class LiveLine {
  readonly #stream: LiveStream;
  readonly #active: boolean;
  readonly #now: () => number;
  #column = 0;
  #visible = false;
  #lastPaint = 0;
  #lastText: number;

  constructor(
    stream: LiveStream,
    {
      active = isLively(stream),
      now = () => performance.now(),
    }: { active?: boolean; now?: () => number } = {},
  ) {
    this.#stream = stream;
    this.#active = active;
    this.#now = now;
    this.#lastText = now();
  }

  /** Show the first of these statuses that fits, if it is time for one. They are asked for only then. */
  show(statuses: () => readonly string[]): void {
    const now = this.#now();
    if (!this.#active || now - this.#lastPaint < PAINT_EVERY || now - this.#lastText < SHOW_AFTER) return;
    const gap = this.#column > 0 ? "  " : "";
    const room = (this.#stream.columns ?? 80) - this.#column - gap.length - 1;
    const status = statuses().find((candidate) => textWidth(candidate) <= room);
    this.clear();
    this.#lastPaint = now;
    if (status === undefined) return;
    this.#stream.write(`${SAVE_CURSOR}${gap}${status}${RESTORE_CURSOR}`);
    this.#visible = true;
  }

  /** Erase the status. To be called before anything else is printed. */
  clear(): void {
    if (this.#visible) this.#stream.write(ERASE_BELOW);
    this.#visible = false;
  }

  /** Say what was printed on this terminal since, so that the status goes behind it. */
  printed(text: string): void {
    this.#column = columnAfter(text, this.#column, this.#stream.columns ?? 80);
    this.#lastText = this.#now();
  }
}

const SAVE_CURSOR = "\x1b7";
const RESTORE_CURSOR = "\x1b8";
const ERASE_BELOW = "\x1b[J";

/** Whether a stream is a terminal on which lines may move: not where TERM=dumb or CI says otherwise. */
export function isLively(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && process.env["TERM"] !== "dumb" && !process.env["CI"];
}
