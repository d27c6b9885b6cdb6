import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";

/**
 * Lines from stdin, one at a time. On a terminal they are edited with readline, and what is typed while an answer
 * streams stays out of sight until the next prompt; lines that were finished meanwhile are taken in turn.
 */
export class LineInput {
  readonly interactive: boolean;
  readonly #readline: Interface;
  readonly #lines: string[] = [];
  #hidden = true;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor({ interactive, onCtrlC }: { readonly interactive: boolean; readonly onCtrlC: () => void }) {
    this.interactive = interactive;
    this.#readline = createInterface({
      input: process.stdin,
      ...(interactive && { output: this.#screen(), terminal: true, historySize: 200 }),
      crlfDelay: Infinity,
    });
    this.#readline.on("SIGINT", onCtrlC);
    this.#readline.on("line", (line) => {
      this.#lines.push(line);
      this.#hidden = true;
      if (!interactive) this.#readline.pause();
      this.#wake?.();
    });
    this.#readline.on("close", () => {
      this.#ended = true;
      this.#wake?.();
    });
  }

  /** The next line, or undefined at the end of the input. Only a terminal shows the prompt. */
  async next(prompt: string): Promise<string | undefined> {
    if (this.#lines.length > 0 && this.interactive) process.stdout.write(`${prompt}${this.#lines[0]}\n`);
    if (this.#lines.length === 0 && !this.#ended) {
      this.#hidden = false;
      if (this.interactive) this.#readline.setPrompt(prompt);
      if (this.interactive) this.#readline.prompt(true);
      else this.#readline.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    return this.#lines.shift();
  }

  /** Throw away what stands on the line that is being typed; false where nothing does. */
  discardTyped(): boolean {
    if (this.#readline.line === "") return false;
    this.#readline.write(null, { ctrl: true, name: "e" });
    this.#readline.write(null, { ctrl: true, name: "u" });
    return true;
  }

  /** Print a note above the prompt that is waiting. */
  note(text: string): void {
    process.stdout.write(`\n${text}\n`);
    this.#readline.prompt(true);
  }

  close(): void {
    this.#readline.close();
  }

  /** What readline draws on: stdout, unless the typing is hidden. */
  #screen(): NodeJS.WritableStream {
    const screen = new Writable({
      write: (chunk, _encoding, done) => {
        if (!this.#hidden) process.stdout.write(chunk);
        done();
      },
    });
    process.stdout.on("resize", () => screen.emit("resize"));
    return Object.defineProperties(screen, {
      columns: { get: () => process.stdout.columns },
      rows: { get: () => process.stdout.rows },
    });
  }
}
