import { createInterface, type Interface } from "node:readline";
import { LineEditor } from "./line-editor/line-editor.ts";
import { isLively } from "./live-line.ts";
import { note } from "./note.ts";

/** Stands for an entry that the user does not want to finish. */
export const GIVEN_UP = Symbol("given up");

/** What was entered; undefined at the end of the input. */
export type Entry = string | typeof GIVEN_UP | undefined;

export interface LineInputOptions {
  /** Whether somebody types, on a terminal. */
  readonly interactive: boolean;
  readonly onCtrlC: () => void;
  /** Called at every key but Ctrl-C, where there is an editor. */
  readonly onTyped?: () => void;
  /** What was typed in earlier chats; the last one is the newest. */
  readonly history?: readonly string[];
  readonly complete?: (text: string) => readonly string[];
}

/**
 * Entries from stdin, one at a time: lines, or on a terminal what was typed or pasted. There they are edited, and what
 * is typed while an answer streams stays out of sight until the next prompt; what was finished meanwhile is taken in
 * turn.
 */
export class LineInput {
  readonly interactive: boolean;
  /** One of them; the editor needs a terminal whose cursor can be moved. */
  readonly #editor: LineEditor | undefined;
  readonly #readline: Interface | undefined;
  readonly #entries: (string | typeof GIVEN_UP)[] = [];
  /** Whether what is being asked for may be given up. */
  #optional = false;
  #ended = false;
  #closed = false;
  #wake: (() => void) | undefined;

  constructor({
    interactive,
    onCtrlC,
    onTyped = () => {},
    history = [],
    complete = () => [],
  }: LineInputOptions) {
    this.interactive = interactive;
    if (interactive && isLively(process.stdout)) {
      this.#editor = new LineEditor({ history, complete, onCtrlC, onTyped, onEntry: this.#take });
      return;
    }
    this.#readline = createInterface({ input: process.stdin, terminal: false, crlfDelay: Infinity });
    this.#readline.on("line", (line) => {
      this.#take(line);
      this.#readline?.pause();
    });
    this.#readline.on("close", () => this.#take(undefined));
  }

  /**
   * The next entry, or undefined at the end of the input. Only a terminal shows the prompt.
   *
   * @param text to start from, where it can be edited
   * @param optional whether `giveUp` ends it
   */
  async next(
    prompt: string,
    { text, optional = false }: { readonly text?: string; readonly optional?: boolean } = {},
  ): Promise<Entry> {
    const [ready] = this.#entries;
    if (typeof ready === "string") this.#editor?.echo(prompt, ready);
    if (this.#entries.length === 0 && !this.#ended) {
      if (this.#editor) this.#editor.show(prompt, text);
      else if (this.interactive) process.stdout.write(prompt);
      this.#readline?.resume();
      this.#optional = optional;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
      this.#optional = false;
    }
    return this.#entries.shift();
  }

  /** Whether an entry can be changed before it is finished. */
  get canEdit(): boolean {
    return this.#editor !== undefined;
  }

  /** Put a whole message where it can be had again. @returns whether it is new there */
  remember(text: string): boolean {
    return this.#editor?.remember(text) ?? false;
  }

  /** Throw away what is being typed; false where nothing is. */
  discardTyped(): boolean {
    if (!this.#editor || this.#editor.text === "") return false;
    this.#editor.clear();
    return true;
  }

  /** Give up what is being asked for; false where that may not be. */
  giveUp(): boolean {
    if (!this.#optional) return false;
    this.#optional = false;
    if (this.#editor) this.#editor.hide();
    else process.stdout.write("\n");
    this.#entries.push(GIVEN_UP);
    this.#wake?.();
    return true;
  }

  /** Print a message as if it had been typed. */
  echo(text: string): void {
    this.#editor?.echo("> ", text);
  }

  /** Print a note above what is being typed. */
  note(text: string): void {
    if (this.#editor) this.#editor.note(text);
    else note(text, process.stdout);
  }

  /** Whether another program has the terminal. */
  lent = false;

  /** Let another program have the terminal for as long as it runs. */
  async lend<Result>(program: () => Promise<Result>): Promise<Result> {
    this.lent = true;
    this.#editor?.suspend();
    try {
      return await program();
    } finally {
      this.lent = false;
      if (!this.#closed) this.#editor?.resume();
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#editor?.close();
    this.#readline?.close();
    this.#take(undefined);
  }

  readonly #take = (entry: string | undefined): void => {
    if (entry === undefined) this.#ended = true;
    else if (!this.#ended) this.#entries.push(entry);
    this.#wake?.();
  };
}
