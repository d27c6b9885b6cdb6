import type { GenerateProgress } from "../engine/types.ts";
import { isColourful, styled } from "./colour.ts";
import { isLively, LiveLine, type LiveStream } from "./live-line.ts";
import { textFor } from "./note.ts";
import { progressTexts } from "./progress-text.ts";
import { tell } from "./tell.ts";
import { type Piece, type ThinkMarks, ThinkSplitter, thinkMarks } from "./thinking.ts";
import { WordWrap } from "./word-wrap.ts";

export interface AnswerViewOptions {
  readonly stdout?: LiveStream;
  readonly stderr?: LiveStream;
  /** Tokens that the answer can have at most, for the time that is left. */
  readonly limit?: number;
  /** What opens and closes thoughts, whether the prompt has opened them, and whether to leave them out. */
  readonly marks?: ThinkMarks;
  readonly thinking?: boolean;
  readonly hideThoughts?: boolean;
}

/**
 * Prints an answer on stdout as it comes, with a live line on stderr for as long as nothing comes. On a terminal words
 * are wrapped, thoughts are dimmed, and it is text only, which cannot drive the terminal; to a file or a pipe it goes
 * as it is.
 */
export class AnswerView {
  readonly #out: LiveStream;
  readonly #err: LiveStream;
  readonly #live: LiveLine;
  readonly #wrap: WordWrap | undefined;
  readonly #thoughts: ThinkSplitter;
  readonly hidesThoughts: boolean;
  readonly #limit: number | undefined;
  #started = performance.now();
  #phase: GenerateProgress["phase"] = "prefill";
  #decodeStarted = 0;
  #tokens = 0;
  #lineEnded = true;
  /** Whether what follows is the first of what is said after thoughts that were left out. */
  #afterHidden = false;

  constructor(options: AnswerViewOptions = {}) {
    const { stdout = process.stdout, stderr = process.stderr, limit, hideThoughts = false } = options;
    this.#out = stdout;
    this.#err = stderr;
    this.#live = new LiveLine(stderr);
    if (isLively(stdout)) this.#wrap = new WordWrap(() => stdout.columns ?? 80);
    this.#thoughts = new ThinkSplitter(options.marks ?? thinkMarks(undefined), options.thinking);
    this.hidesThoughts = hideThoughts;
    this.#limit = limit;
  }

  /** Whether it is at thoughts that have not ended. */
  get thinking(): boolean {
    return this.#thoughts.thinking;
  }

  readonly onProgress = (progress: GenerateProgress): void => {
    this.#live.show(() => {
      const texts = progressTexts(progress, this.#pace(progress));
      return this.hidesThoughts && this.#thoughts.thinking && progress.phase === "decode"
        ? [...texts.map((text) => `thinking · ${text}`), ...texts]
        : texts;
    });
  };

  /** Print the text of one token (it may be empty). */
  write(text: string): void {
    if (this.#tokens++ === 0) this.#decodeStarted = performance.now();
    this.#print(this.#thoughts.push(text));
  }

  /** Print a remark on stderr between two pieces of the answer. */
  remark(text: string): void {
    this.#live.clear();
    if (this.#out.isTTY && !this.#lineEnded) this.#out.write("\n");
    if (this.#out.isTTY) this.#lineEnded = true;
    tell(text, this.#err);
    this.#wrap?.restart();
    this.#live.printed(0, true);
  }

  /** Take the live line away and end the line. */
  end(): void {
    this.#print(this.#thoughts.end());
    this.#live.clear();
    if (!this.#lineEnded) this.#out.write("\n");
    this.#lineEnded = true;
  }

  #print(pieces: readonly Piece[]): void {
    const written = pieces.map((piece) => this.#shown(piece)).join("");
    if (written === "") return;
    this.#live.clear();
    this.#out.write(written);
    this.#live.printed(this.#wrap?.column ?? 0, this.#phase === "prefill");
  }

  #shown({ text, thought }: Piece): string {
    if (thought && this.hidesThoughts) {
      this.#afterHidden = true;
      return "";
    }
    const kept = this.#afterHidden ? text.trimStart() : text;
    if (kept === "") return "";
    this.#afterHidden = false;
    const harmless = textFor(this.#out, kept);
    this.#lineEnded = harmless.endsWith("\n");
    const wrapped = this.#wrap?.push(harmless) ?? harmless;
    return thought && isColourful(this.#out) ? styled("dim", wrapped) : wrapped;
  }

  #pace({ phase }: GenerateProgress): { ms: number; tokens: number; limit?: number } {
    const now = performance.now();
    const tokens = this.#tokens;
    const limit = this.#limit === undefined ? {} : { limit: this.#limit };
    // An answer may have several prefills, where the conversation had to be shortened for it.
    if (phase === "prefill" && this.#phase === "decode") this.#started = now;
    this.#phase = phase;
    if (phase === "prefill") return { ms: now - this.#started, tokens, ...limit };
    return { ms: tokens > 1 ? (now - this.#decodeStarted) / tokens : 0, tokens, ...limit };
  }
}
