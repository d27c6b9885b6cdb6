/** Telling a model's thoughts from its answer. */

/** What opens and closes thoughts, in the templates that know of them. */
const MARKS: readonly ThinkMarks[] = [
  { open: "<think>", close: "</think>" },
  { open: "[THINK]", close: "[/THINK]" },
  { open: "<|START_THINKING|>", close: "<|END_THINKING|>" },
  { open: "<seed:think>", close: "</seed:think>" },
  { open: "<thinking>", close: "</thinking>" },
  { open: "<thought>", close: "</thought>" },
  { open: "<reasoning>", close: "</reasoning>" },
];

export interface ThinkMarks {
  readonly open: string;
  readonly close: string;
}

/** The marks that a chat template uses; `<think>` where it names none. */
export function thinkMarks(template: string | undefined): ThinkMarks {
  return MARKS.find(({ open, close }) => template?.includes(open) || template?.includes(close)) ?? MARKS[0];
}

/** The variable that switches thinking in a chat template; undefined where it has none. */
export function thinkSwitch(template: string | undefined): string | undefined {
  return /\b(?:enable_thinking|thinking)\b(?=[^<>[\]]*%\})/.exec(template ?? "")?.[0];
}

export interface Piece {
  readonly text: string;
  readonly thought: boolean;
}

/** Parts an answer, as it comes, into thoughts (with their marks) and what is said. */
export class ThinkSplitter {
  readonly #marks: ThinkMarks;
  #state: "start" | "thinking" | "said" = "start";
  #held = "";

  /** @param thinking whether the prompt has opened the thoughts already */
  constructor(marks: ThinkMarks, thinking = false) {
    this.#marks = marks;
    if (thinking) this.#state = "thinking";
  }

  get thinking(): boolean {
    return this.#state === "thinking";
  }

  /** The next piece of the answer. What may be the beginning of a mark is held back until it is known. */
  push(text: string): Piece[] {
    const { open, close } = this.#marks;
    this.#held += text;
    const pieces: Piece[] = [];
    if (this.#state === "start") {
      const begun = this.#held.trimStart();
      if (open.startsWith(begun) && begun !== open) return [];
      // A mark further on is what the answer is about.
      this.#state = begun.startsWith(open) ? "thinking" : "said";
    }
    if (this.#state === "thinking") {
      const end = this.#held.indexOf(close);
      const length = end < 0 ? this.#held.length - overlap(this.#held, close) : end + close.length;
      pieces.push({ text: this.#held.slice(0, length), thought: true });
      this.#held = this.#held.slice(length);
      if (end >= 0) this.#state = "said";
    }
    if (this.#state === "said") {
      pieces.push({ text: this.#held, thought: false });
      this.#held = "";
    }
    return pieces.filter((piece) => piece.text !== "");
  }

  /** What is held back, at the end. */
  end(): Piece[] {
    const piece = { text: this.#held, thought: this.thinking };
    this.#held = "";
    return piece.text === "" ? [] : [piece];
  }
}

/** How much of the end of a text may be the beginning of a mark. */
function overlap(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(mark.slice(0, length))) return length;
  }
  return 0;
}
