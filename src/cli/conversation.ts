import { contentText } from "../text/messages.ts";
import type { ChatMessage } from "../text/types.ts";

/** A question and what was answered, or as much of it as there was. */
export interface Turn {
  readonly question: string;
  readonly answer: string;
}

/** The messages of a chat. A question that got no answer is not part of it. */
export class Conversation {
  system: string;
  #turns: Turn[] = [];
  #forgotten = 0;

  constructor(system: string) {
    this.system = system;
  }

  get turns(): readonly Turn[] {
    return this.#turns;
  }

  /** How many of the oldest turns the model does not get to read any more. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** The last of the turns that the model gets to read: the one that can be taken back. */
  get last(): Turn | undefined {
    return this.#turns.length > this.#forgotten ? this.#turns.at(-1) : undefined;
  }

  /** What the model gets to read, and `question` as the last message. */
  ask(question: string): ChatMessage[] {
    return [...this.messages(), { role: "user", content: question }];
  }

  /** What the model gets to read of everything said so far. */
  messages(): ChatMessage[] {
    return this.#messages(this.#forgotten);
  }

  /** Everything said so far. */
  allMessages(): ChatMessage[] {
    return this.#messages(0);
  }

  #messages(first: number): ChatMessage[] {
    return [
      ...(this.system === "" ? [] : [{ role: "system", content: this.system }]),
      ...this.#turns.slice(first).flatMap((turn) => [
        { role: "user", content: turn.question },
        { role: "assistant", content: turn.answer },
      ]),
    ];
  }

  /** Become the conversation of these messages; see `forgotten`. */
  restore(messages: readonly ChatMessage[], forgotten: number): void {
    const system = messages.find(({ role }) => role === "system");
    this.system = system ? contentText(system) : "";
    this.reset(
      messages.flatMap((message, index) => {
        const next = messages[index + 1];
        const isTurn = message.role === "user" && next?.role === "assistant";
        return isTurn ? [{ question: contentText(message), answer: contentText(next) }] : [];
      }),
    );
    this.forget(forgotten);
  }

  /** Keep an answer, or as much of it as there was. */
  keep(question: string, answer: string): void {
    if (answer !== "") this.#turns.push({ question, answer });
  }

  /** Take back the last turn, if the model gets to read it. */
  undo(): Turn | undefined {
    return this.last && this.#turns.pop();
  }

  /** Let the model read this many fewer of the oldest turns. */
  forget(turns: number): void {
    this.#forgotten = Math.min(this.#forgotten + turns, this.#turns.length);
  }

  /** Forget all but the system message; or go on with these turns. */
  reset(turns: readonly Turn[] = []): void {
    this.#turns = [...turns];
    this.#forgotten = 0;
  }
}
