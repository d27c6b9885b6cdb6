import type { ChatMessage } from "../text/types.ts";

/** The messages of a chat. A question that got no answer is not part of it. */
export class Conversation {
  system: string;
  readonly #turns: { readonly question: string; answer: string }[] = [];

  constructor(system: string) {
    this.system = system;
  }

  get turns(): number {
    return this.#turns.length;
  }

  /** Everything said so far, and `question` as the last message. */
  ask(question: string): ChatMessage[] {
    return [
      ...(this.system === "" ? [] : [{ role: "system", content: this.system }]),
      ...this.#turns.flatMap((turn) => [
        { role: "user", content: turn.question },
        { role: "assistant", content: turn.answer },
      ]),
      { role: "user", content: question },
    ];
  }

  /** Keep an answer, or as much of it as there was. */
  keep(question: string, answer: string): void {
    if (answer !== "") this.#turns.push({ question, answer });
  }

  /** Forget all but the system message. */
  reset(): void {
    this.#turns.length = 0;
  }
}
