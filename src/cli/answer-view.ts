import type { GenerateProgress } from "../engine/types.ts";
import { LiveLine, type LiveStream } from "./live-line.ts";
import { textFor } from "./note.ts";
import { progressTexts } from "./progress-text.ts";

/** Prints an answer on stdout as it comes, with a live line on stderr for as long as nothing comes. */
export class AnswerView {
  readonly #out: LiveStream;
  readonly #live: LiveLine;
  readonly #started = performance.now();
  #decodeStarted = 0;
  #tokens = 0;
  #lineEnded = true;

  constructor({
    stdout = process.stdout,
    stderr = process.stderr,
  }: { readonly stdout?: LiveStream; readonly stderr?: LiveStream } = {}) {
    this.#out = stdout;
    this.#live = new LiveLine(stderr);
  }

  readonly onProgress = (progress: GenerateProgress): void => {
    this.#live.show(() => progressTexts(progress, this.#pace(progress)));
  };

  /** Print the text of one token (it may be empty). On a terminal it is text only, and cannot drive it. */
  write(text: string): void {
    if (this.#tokens++ === 0) this.#decodeStarted = performance.now();
    if (text === "") return;
    const shown = textFor(this.#out, text);
    this.#live.clear();
    this.#out.write(shown);
    if (this.#out.isTTY) this.#live.printed(shown);
    this.#lineEnded = shown.endsWith("\n");
  }

  /** Take the live line away and end the line. */
  end(): void {
    this.#live.clear();
    if (!this.#lineEnded) this.#out.write("\n");
    this.#lineEnded = true;
  }

  #pace({ phase }: GenerateProgress): number {
    const now = performance.now();
    if (phase === "prefill") return now - this.#started;
    return this.#tokens > 1 ? (now - this.#decodeStarted) / this.#tokens : 0;
  }
}
