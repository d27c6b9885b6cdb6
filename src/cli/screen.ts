/** What of a terminal's stream is needed to draw on its whole window. */
export interface ScreenStream {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
  on(event: "resize", listener: () => void): unknown;
  removeListener(event: "resize", listener: () => void): unknown;
}

/** The other screen, without cursor, and with lines that end at the edge: nobody knows all widths for sure. */
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const CLEAR = "\x1b[2J";
/** Terminals that know it show what is between these two at once; others pass over it. */
const BEGIN = "\x1b[?2026h";
const END = "\x1b[?2026l";

/**
 * The whole window of a terminal, drawn line by line, and of these only what has changed. However the process ends, but
 * for a SIGKILL, the terminal is left as it was.
 */
export class Screen {
  readonly #stream: ScreenStream;
  readonly #onResize: () => void;
  #shown: readonly string[] = [];
  #open = false;

  /** @param onResize to draw again */
  constructor(stream: ScreenStream, onResize: () => void) {
    this.#stream = stream;
    this.#onResize = onResize;
  }

  get size(): { readonly columns: number; readonly rows: number } {
    const { columns, rows } = this.#stream;
    return { columns: columns || 80, rows: rows || 24 };
  }

  open(): void {
    if (this.#open) return;
    this.#open = true;
    this.#stream.on("resize", this.#resized);
    process.on("exit", this.close);
    // Before anybody prints what went wrong.
    process.on("uncaughtExceptionMonitor", this.close);
    this.#stream.write(ENTER);
    this.#forget();
  }

  /** Show these lines from the top of the window on; what does not differ from before is left alone. */
  draw(lines: readonly string[]): void {
    if (!this.#open) return;
    let changes = "";
    for (let row = 0; row < Math.max(lines.length, this.#shown.length); row++) {
      const line = lines[row] ?? "";
      // Erased first: at the end of a full line the cursor stands on its last character.
      if (line !== this.#shown[row]) changes += `\x1b[${row + 1};1H\x1b[K${line}`;
    }
    this.#shown = lines;
    if (changes !== "") this.#stream.write(`${BEGIN}${changes}${END}`);
  }

  /** Back to the screen that was there before. */
  readonly close = (): void => {
    if (!this.#open) return;
    this.#open = false;
    this.#stream.removeListener("resize", this.#resized);
    process.removeListener("exit", this.close);
    process.removeListener("uncaughtExceptionMonitor", this.close);
    this.#stream.write(LEAVE);
  };

  /** The window's content is lost or moved. */
  readonly #resized = (): void => {
    this.#forget();
    this.#onResize();
  };

  #forget(): void {
    this.#shown = [];
    this.#stream.write(CLEAR);
  }
}
