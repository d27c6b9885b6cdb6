/** Breaks a model's text into lines between words, while it comes. */
import { isLively, type LiveStream } from "./live-line.ts";
import { print } from "./note.ts";
import { printable } from "./printable.ts";
import { graphemes, graphemeWidth, tabWidth, textWidth } from "./text-width.ts";

/**
 * Text as it comes, with line breaks where a word would cross the edge of a terminal. Nothing is held back: a word
 * that turns out too long for its line is erased there and printed again on the next one. Code blocks and rows of
 * tables stay as they are; there the terminal breaks lines.
 */
export class WordWrap {
  /** Column of the cursor, from 0; as many as the terminal has where the line is full to its last one. */
  column = 0;
  readonly #columns: () => number;
  /** What stands on the line since the last place where it may be broken, and the column it began in. */
  #word = "";
  #wordColumn = 0;
  /** Whether the word reaches past the edge of a terminal that became narrower. */
  #torn = false;
  /** The line of the text, as far as it came: for its beginning. */
  #line = "";
  /** What is to be written for the piece at hand, as far as it is made. */
  #out = "";
  #blankBefore = true;
  /** The marks that opened a code block, while in one. */
  #fence = "";
  #indented = false;

  /** @param columns of the terminal, asked for at every piece of text: it may be resized */
  constructor(columns: () => number) {
    this.#columns = columns;
  }

  /** What to write for this piece of text: it, line breaks, and sequences that erase the beginning of a word. */
  push(text: string): string {
    const columns = Math.max(2, this.#columns());
    this.#out = "";
    this.#resized(columns);
    for (const grapheme of graphemes(text)) {
      // It may take back some of what is there.
      const added = this.#put(grapheme, columns);
      this.#out += added;
    }
    return this.#out;
  }

  /** Say that the line was ended by something else. */
  restart(): void {
    this.column = 0;
    this.#break();
  }

  #put(grapheme: string, columns: number): string {
    if (/[\r\n]/.test(grapheme)) return this.#newline(grapheme);
    this.#line += grapheme;
    if (this.#isCode()) {
      const width = grapheme === "\t" ? tabWidth(this.column) : graphemeWidth(grapheme);
      const fits = this.column + width <= columns || grapheme === "\t";
      this.column = fits ? Math.min(columns, this.column + width) : width;
      this.#break();
      return grapheme;
    }
    // The last column stays free: a cursor behind it is in a different place for every terminal.
    return /^[ \t]$/.test(grapheme)
      ? this.#space(grapheme, columns - 1)
      : this.#letter(grapheme, columns - 1);
  }

  #newline(grapheme: string): string {
    const fence = /^ {0,3}(`{3,}|~{3,})/.exec(this.#line)?.[1] ?? "";
    const closes = fence.startsWith(this.#fence) && this.#line.trim() === fence;
    if (this.#fence === "") this.#fence = fence;
    else if (closes) this.#fence = "";
    this.#blankBefore = this.#line.trim() === "" || this.#indented;
    this.#line = "";
    this.#indented = false;
    this.restart();
    return grapheme;
  }

  #isCode(): boolean {
    if (this.#fence !== "" || /^\s*(?:`{3}|~{3}|\|)/.test(this.#line)) return true;
    this.#indented = this.#blankBefore && /^(?: {4}|\t)(?!\s*(?:[-*+]|\d+[.)])\s)/.test(this.#line);
    return this.#indented;
  }

  /** A space at the edge is the line break. */
  #space(space: string, limit: number): string {
    const width = space === "\t" ? tabWidth(this.column) : 1;
    const fits = this.column + width <= limit;
    if (fits) this.column += width;
    this.#break();
    return fits ? space : "";
  }

  #letter(grapheme: string, limit: number): string {
    if (mayBreakBetween(this.#word, grapheme)) this.#break();
    if (this.#torn) return grapheme;
    const word = this.#word + grapheme;
    const width = textWidth(word);
    if (this.#wordColumn + width <= limit) {
      this.#word = word;
      this.column = this.#wordColumn + width;
      return grapheme;
    }
    const moves = this.#wordColumn > 0 && width <= limit;
    const erasing = moves ? this.#eraseWord() : "";
    this.#wordColumn = 0;
    this.#word = moves ? word : grapheme;
    this.column = textWidth(this.#word);
    return `${erasing}\n${this.#word}`;
  }

  /** Take back what was written of the word, and erase what is on the screen already. */
  #eraseWord(): string {
    const word = this.#word;
    if (this.#out.endsWith(word)) {
      this.#out = this.#out.slice(0, this.#out.length - word.length);
      return "";
    }
    const columns = this.column - this.#wordColumn;
    return `\x1b[${columns}D\x1b[K`;
  }

  /**
   * Where the terminal became narrower than the line, nobody knows where the cursor went: the word is finished there,
   * and the next one begins a line.
   */
  #resized(columns: number): void {
    if (this.column < columns) return;
    if (!this.#isCode()) this.#torn = this.#word !== "";
    else if (this.column > columns) this.column = ((this.column - 1) % columns) + 1;
  }

  #break(): void {
    this.#word = "";
    this.#torn = false;
    this.#wordColumn = this.column;
  }
}

/** Print a model's text as a whole, as `AnswerView` prints one that comes in pieces. */
export function printWrapped(text: string, stream: LiveStream): void {
  const wrap = new WordWrap(() => stream.columns ?? 80);
  print(isLively(stream) ? wrap.push(printable(text)) : text, stream);
}

/** Chinese and Japanese break between any two characters, but not before what closes. */
function mayBreakBetween(word: string, next: string): boolean {
  return !CLOSING.test(next) && (IDEOGRAPH.test(next) || IDEOGRAPH_LAST.test(word));
}

const IDEOGRAPH = /^[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff60\u{20000}-\u{3fffd}]/u;
const IDEOGRAPH_LAST = /[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff60\u{20000}-\u{3fffd}]$/u;
const CLOSING = /^(?:[、。，．：；？！）〉》」』】〕・ー々\p{Mark}.,:;?!)\]]|\u200d)/u;
