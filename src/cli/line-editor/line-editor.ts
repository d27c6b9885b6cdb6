import { emitKeypressEvents } from "node:readline";
import { isColourful, styled } from "../colour.ts";
import { tell } from "../tell.ts";
import { EditBuffer } from "./edit-buffer.ts";
import { editByKey, type Key, keyName } from "./edit-keys.ts";
import { History } from "./history.ts";
import { HistorySearch } from "./history-search.ts";
import { layOut, windowOf } from "./layout.ts";
import { Painter } from "./painter.ts";
import { RawTerminal } from "./raw-terminal.ts";

export interface LineEditorOptions {
  readonly history: readonly string[];
  /** What a text that is being typed may become, for Tab. */
  readonly complete: (text: string) => readonly string[];
  readonly onCtrlC: () => void;
  /** Any other key was typed. */
  readonly onTyped: () => void;
  /** An entry is ready, or the input has ended. */
  readonly onEntry: (text: string | undefined) => void;
}

/** Edits what is typed on a terminal. While it is hidden keys are taken as well; they show at the next prompt. */
export class LineEditor {
  readonly #options: LineEditorOptions;
  readonly #history: History;
  readonly #buffer = new EditBuffer();
  readonly #terminal = new RawTerminal();
  readonly #painter = new Painter((text) => process.stdout.write(text));
  #prompt = "> ";
  #visible = false;
  #painting = false;
  /** Milliseconds that the last painting took. */
  #paintMs = 0;
  /** Whether another program has the terminal. */
  #lent = false;
  /** What is being pasted, as far as it came. */
  #pasted: string[] | undefined;
  #search: HistorySearch | undefined;

  constructor(options: LineEditorOptions) {
    this.#options = options;
    this.#history = new History(options.history);
    emitKeypressEvents(process.stdin);
    process.stdin.on("keypress", this.#onKey).on("end", this.#onEnd);
    process.stdout.on("resize", this.#onResize);
    process.on("SIGCONT", this.#onContinue);
    this.#terminal.enter();
  }

  get text(): string {
    return this.#buffer.text;
  }

  /** Show the prompt, and what was typed meanwhile, or the text to start from. */
  show(prompt: string, text?: string): void {
    if (text !== undefined) this.#buffer.set(text);
    this.#prompt = prompt;
    this.#painter.forget();
    this.#visible = true;
    this.#paint();
  }

  /** Take the prompt away: what is on the screen stays, and output goes on below. */
  hide(): void {
    if (this.#visible) this.#painter.leave();
    this.#visible = false;
  }

  /** Print an entry that was finished before its prompt came. */
  echo(prompt: string, text: string): void {
    this.#painter.forget();
    this.#painter.paint(layOut(text, text, this.#columns, [prompt, FURTHER]), this.#shownPrompt(prompt));
    this.#painter.leave();
  }

  clear(): void {
    this.#buffer.set("");
    this.#search = undefined;
    this.#paint();
  }

  /** Print above what is being typed. */
  note(text: string): void {
    if (this.#visible) this.#painter.erase();
    tell(text, process.stdout);
    if (this.#visible) this.#paint();
  }

  /** @returns whether the history did not end with it already */
  remember(text: string): boolean {
    return this.#history.add(text);
  }

  /** Let another program have the terminal, until `resume`. */
  suspend(): void {
    this.#lent = true;
    process.stdin.off("keypress", this.#onKey);
    this.#terminal.leave();
    process.stdin.pause();
  }

  resume(): void {
    this.#lent = false;
    process.stdin.on("keypress", this.#onKey);
    this.#terminal.enter();
  }

  close(): void {
    this.hide();
    this.suspend();
    this.#terminal.close();
    process.stdin.off("end", this.#onEnd);
    process.stdout.off("resize", this.#onResize);
    process.off("SIGCONT", this.#onContinue);
  }

  readonly #onKey = (typed: string | undefined, key: Key): void => {
    const name = keyName(key);
    if (name !== "ctrl+c") this.#options.onTyped();
    if (name === "paste-start") this.#pasted = [];
    else if (name === "paste-end") this.#paste();
    else if (this.#pasted) this.#pasted.push(typed ?? "");
    else if (!this.#search || !this.#searchKey(this.#search, typed, name)) this.#editKey(typed, key, name);
    this.#paintSoon();
  };

  #editKey(typed: string | undefined, key: Key, name: string): void {
    const act = this.#actions[name];
    if (act) act();
    else editByKey(this.#buffer, typed, key);
  }

  /** Keys that do more than to change the text. */
  readonly #actions: Readonly<Record<string, () => void>> = {
    return: () => this.#submit(),
    enter: () => this.#submit(),
    "ctrl+c": () => this.#options.onCtrlC(),
    "ctrl+d": () => {
      if (this.#buffer.text === "") this.#onEnd();
      else this.#buffer.delete();
    },
    "ctrl+z": () => this.#stop(),
    "ctrl+l": () => {
      if (!this.#visible) return;
      process.stdout.write("\x1b[H\x1b[2J");
      this.#painter.forget();
    },
    "ctrl+r": () => {
      this.#search = new HistorySearch(this.#history);
    },
    tab: () => this.#complete(),
    up: () => this.#recall(-1),
    "ctrl+p": () => this.#recall(-1),
    down: () => this.#recall(1),
    "ctrl+n": () => this.#recall(1),
  };

  /** A key while the history is searched; false where it ends the search and means what it always means. */
  #searchKey(search: HistorySearch, typed: string | undefined, name: string): boolean {
    const outcome = search.key(typed, name);
    if (outcome === "searching") return true;
    if (outcome === "taken") this.#buffer.set(search.found ?? this.#buffer.text);
    this.#search = undefined;
    return outcome === "given up";
  }

  #paste(): void {
    this.#buffer.insert((this.#pasted ?? []).join(""));
    this.#pasted = undefined;
  }

  /** To the line above or below, and from the first and last one into the history. */
  #recall(by: -1 | 1): void {
    if (by < 0 ? this.#buffer.up() : this.#buffer.down()) return;
    const text = this.#history.step(by, this.#buffer.text);
    if (text !== undefined) this.#buffer.set(text);
  }

  #complete(): void {
    const { text } = this.#buffer;
    const found = this.#options.complete(text);
    if (found.length === 0) return;
    const common = found.reduce((prefix, name) => {
      let length = 0;
      while (length < prefix.length && prefix[length] === name[length]) length++;
      return prefix.slice(0, length);
    });
    if (found.length === 1) this.#buffer.set(`${common} `);
    else if (common.length > text.length) this.#buffer.set(common);
    else if (this.#visible) {
      const word = text.lastIndexOf(" ") + 1;
      this.note(found.map((name) => name.slice(word)).join("  "));
    }
  }

  #submit(): void {
    const { text } = this.#buffer;
    if (this.#visible) {
      // All of it, even where only a part was in sight.
      this.#painter.paint(this.#layout(Infinity), this.#shownPrompt(this.#prompt));
      this.#painter.leave();
    }
    this.#visible = false;
    this.#buffer.set("");
    this.#options.onEntry(text);
  }

  readonly #onEnd = (): void => this.#options.onEntry(undefined);

  readonly #onResize = (): void => {
    this.#painter.resized(this.#columns);
    this.#paint();
  };

  /** Ctrl-Z: the shell gets the terminal back as it was. */
  #stop(): void {
    if (process.platform === "win32") return;
    this.#terminal.leave();
    process.kill(0, "SIGTSTP");
  }

  readonly #onContinue = (): void => {
    if (this.#lent) return;
    this.#terminal.enter();
    this.#painter.forget();
    this.#paint();
  };

  /** Once for all keys that came together; of a long text, not for more than half of the time. */
  #paintSoon(): void {
    if (this.#painting || this.#pasted) return;
    this.#painting = true;
    const paint = () => {
      this.#painting = false;
      const start = performance.now();
      this.#paint();
      this.#paintMs = performance.now() - start;
    };
    if (this.#paintMs < SLOW_MS) setImmediate(paint);
    else setTimeout(paint, this.#paintMs);
  }

  #paint(): void {
    if (!this.#visible) return;
    const prompt = this.#search?.prompt ?? this.#prompt;
    this.#painter.paint(this.#layout(process.stdout.rows || 24), this.#shownPrompt(prompt));
  }

  #layout(rows: number) {
    if (this.#search) {
      const text = this.#search.found ?? this.#buffer.text;
      return windowOf(layOut(text, text, this.#columns, [this.#search.prompt, FURTHER]), rows);
    }
    const { before, text } = this.#buffer;
    return windowOf(layOut(before, text, this.#columns, [this.#prompt, FURTHER]), rows);
  }

  #shownPrompt(plain: string) {
    return { plain, shown: isColourful(process.stdout) ? styled("question", plain) : plain };
  }

  get #columns(): number {
    return process.stdout.columns || 80;
  }
}

/** A painting that takes longer would be felt at every key. */
const SLOW_MS = 20;

/** Before the further lines of a text of several. */
const FURTHER = ". ";
