/** Shows a generation while it runs: on the whole window of a terminal, or as plain lines. */
import type { GenerateProgress } from "../engine/types.ts";
import { glyphsFor } from "./glyphs.ts";
import { isLively } from "./live-line.ts";
import { note, textFor } from "./note.ts";
import { printableLine } from "./printable.ts";
import { Screen } from "./screen.ts";
import { canHearKeys, listenForKeys } from "./terminal-keys.ts";
import { LEAST_SIZE, type Look, watchLines } from "./watch-lines.ts";
import { type Sample, Watched, type WatchSubject } from "./watch-state.ts";
import { watchLine } from "./watch-text.ts";

/** Milliseconds between two looks at the threads, two drawings, and two plain lines. */
const LOOK_MS = 50;
const DRAW_MS = 100;
const LINE_MS = 2000;
/** Characters of the text in a plain line. */
const LINE_TEXT = 200;

export interface WatchViewOptions {
  readonly subject: WatchSubject;
  /** Looks at the threads, and at memory. */
  readonly look: () => Omit<Sample, "now">;
  readonly onQuit: () => void;
}

export class WatchView {
  readonly #watched: Watched;
  readonly #look: WatchViewOptions["look"];
  readonly #show: (ended: boolean) => void;
  readonly #leave: () => void;
  readonly #timer: NodeJS.Timeout;
  #shownAt: number;

  constructor({ subject, look, onQuit }: WatchViewOptions) {
    this.#watched = new Watched(subject, performance.now());
    this.#look = look;
    this.#lookNow();
    const full = fitsScreen();
    const shownEvery = full ? DRAW_MS : LINE_MS;
    [this.#show, this.#leave] = full ? this.#onScreen(onQuit) : this.#inLines();
    this.#shownAt = performance.now();
    this.#timer = setInterval(() => {
      this.#lookNow();
      if (performance.now() - this.#shownAt < shownEvery) return;
      this.#shownAt = performance.now();
      this.#show(false);
    }, LOOK_MS);
  }

  /** All text that has come. */
  get text(): string {
    return this.#watched.text;
  }

  readonly onProgress = (progress: GenerateProgress): void => this.#watched.onProgress(progress);

  readonly onToken = ({ text }: { readonly text: string }): void => {
    this.#watched.onToken(text, performance.now());
  };

  /** The terminal is what it was. */
  end(): void {
    clearInterval(this.#timer);
    try {
      this.#lookNow();
      this.#show(true);
    } finally {
      this.#leave();
    }
  }

  #lookNow(): void {
    this.#watched.look({ now: performance.now(), ...this.#look() });
  }

  #onScreen(onQuit: () => void): [show: () => void, leave: () => void] {
    const look: Look = {
      glyphs: glyphsFor(process.env),
      colours: !process.env["NO_COLOR"],
      keys: canHearKeys() ? "q stops" : "Ctrl-C stops",
    };
    const show = () => screen.draw(watchLines(this.#watched.state(), screen.size, look));
    const screen = new Screen(process.stderr, show);
    const onResume = () => {
      screen.open();
      show();
    };
    onResume();
    const release = listenForKeys({ onQuit, onSuspend: screen.close, onResume });
    return [
      show,
      () => {
        screen.close();
        release();
      },
    ];
  }

  /** A line now and then, with what has come of the text since the last one. */
  #inLines(): [show: (ended: boolean) => void, leave: () => void] {
    const glyphs = glyphsFor(process.env);
    let told = 0;
    const show = (ended: boolean) => {
      const state = this.#watched.state();
      const fresh = state.text.slice(told);
      told = state.text.length;
      if (ended && fresh === "") return;
      const text = textFor(process.stderr, printableLine(fresh.slice(-LINE_TEXT)));
      note(`${watchLine(state, glyphs)}${fresh === "" ? "" : `  "${text}"`}`);
    };
    note(this.#watched.state().title);
    return [show, () => {}];
  }
}

function fitsScreen(): boolean {
  const { columns = 0, rows = 0 } = process.stderr;
  return isLively(process.stderr) && columns >= LEAST_SIZE.columns && rows >= LEAST_SIZE.rows;
}
