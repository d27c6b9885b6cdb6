import { contentText } from "../text/messages.ts";
import type { ChatMessage } from "../text/types.ts";

const NOTHING: ChatMessage = { role: "system", content: "" };

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

  /** Everything said so far. */
  get messages(): ChatMessage[] {
    return [
      ...(this.system === "" ? [] : [{ role: "system", content: this.system }]),
      ...this.#turns.flatMap((turn) => [
        { role: "user", content: turn.question },
        { role: "assistant", content: turn.answer },
      ]),
    ];
  }

  /** Everything said so far, and `question` as the last message. */
  ask(question: string): ChatMessage[] {
    return [...this.messages, { role: "user", content: question }];
  }

  /** Become another conversation, as `messages` gave it. */
  restore(messages: readonly ChatMessage[]): void {
    this.reset();
    this.system = contentText(messages.find(({ role }) => role === "system") ?? NOTHING);
    for (const [index, message] of messages.entries()) {
      const answer = messages[index + 1];
      if (message.role === "user" && answer?.role === "assistant")
        this.keep(contentText(message), contentText(answer));
    }
  }

  /** The last question and its answer. */
  get last(): { readonly question: string; readonly answer: string } | undefined {
    return this.#turns.at(-1);
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
