import { writeSync } from "node:fs";

const PASTE_ON = "\x1b[?2004h";
const PASTE_OFF = "\x1b[?2004l";

/** The terminal in the mode in which every key comes as it is typed, and pasted text is marked as such. */
export class RawTerminal {
  #raw = false;

  constructor() {
    process.on("exit", this.#atExit);
  }

  enter(): void {
    process.stdin.setRawMode(true).resume();
    process.stdout.write(PASTE_ON);
    this.#raw = true;
  }

  leave(): void {
    if (!this.#raw) return;
    this.#raw = false;
    process.stdin.setRawMode(false);
    process.stdout.write(PASTE_OFF);
  }

  close(): void {
    this.leave();
    process.off("exit", this.#atExit);
  }

  /** Node gives the terminal its mode back; of pasting it knows nothing. */
  readonly #atExit = (): void => {
    try {
      if (this.#raw) writeSync(process.stdout.fd, PASTE_OFF);
    } catch {
      // It is gone.
    }
  };
}
