import { textWidth } from "../text-width.ts";
import type { Layout } from "./layout.ts";

/** Paints a text that is being typed over what it was before. */
export class Painter {
  readonly #write: (text: string) => void;
  /** What is on the screen: widths of its rows, and where the cursor is. */
  #widths: readonly number[] = [0];
  #cursorRow = 0;
  #cursorColumn = 0;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** @param prompt what the first row begins with, and as what to print it: in colour */
  paint(layout: Layout, prompt: { readonly plain: string; readonly shown: string }): void {
    const { rows, cursorRow, cursorColumn } = layout;
    const [first, ...further] = rows;
    const begins = first.startsWith(prompt.plain);
    const shown = [begins ? prompt.shown + first.slice(prompt.plain.length) : first, ...further];
    const below = rows.length - 1 - cursorRow;
    const cursor = `${below > 0 ? `\x1b[${below}A` : ""}\r${cursorColumn > 0 ? `\x1b[${cursorColumn}C` : ""}`;
    this.#write(`${this.#toStart()}\x1b[J${shown.join("\r\n")}${cursor}`);
    this.#widths = rows.map(textWidth);
    this.#cursorRow = cursorRow;
    this.#cursorColumn = cursorColumn;
  }

  /** Take it off the screen. */
  erase(): void {
    this.#write(`${this.#toStart()}\x1b[J`);
    this.forget();
  }

  /** Go on below what is on the screen, and leave that as it is. */
  leave(): void {
    const below = this.#widths.length - 1 - this.#cursorRow;
    this.#write(`${below > 0 ? `\x1b[${below}B` : ""}\r\n`);
    this.forget();
  }

  /** Begin anew where the cursor is. */
  forget(): void {
    this.#widths = [0];
    this.#cursorRow = 0;
    this.#cursorColumn = 0;
  }

  /** Say that the terminal has another width now: most lay out anew what was too long for it. */
  resized(columns: number): void {
    const rowsOf = (width: number) => Math.max(1, Math.ceil(width / columns));
    const above = this.#widths.slice(0, this.#cursorRow).reduce((sum, width) => sum + rowsOf(width), 0);
    this.#cursorRow = above + Math.floor(this.#cursorColumn / columns);
  }

  #toStart(): string {
    return `${this.#cursorRow > 0 ? `\x1b[${this.#cursorRow}A` : ""}\r`;
  }
}
