/** What happens where a conversation no longer fits the context: `--overflow stop|slide`. */
import { Option } from "commander";
import type { ChatMessage } from "../text/types.ts";
import type { PreparedPrompt } from "./prepare-prompt.ts";
import { printableLine } from "./printable.ts";
import { shortenText } from "./wrap-text.ts";

export const OVERFLOWS = ["stop", "slide"] as const;
export type Overflow = (typeof OVERFLOWS)[number];

export function overflowOption(): Option {
  return new Option(
    "--overflow <how>",
    "where the context is full: stop, or slide (drop the oldest turns and go on; the system message stays)",
  )
    .choices(OVERFLOWS)
    .default("stop");
}

/** Part of the context that must be free for an answer, where it is not to slide; and that a slide makes free. */
const LEAST_FREE = 1 / 8;
const MADE_FREE = 1 / 2;

/** A conversation of which the oldest turns may be missing, and what the model reads of it. */
export interface Fitted {
  readonly messages: readonly ChatMessage[];
  readonly prompt: PreparedPrompt;
  /** Messages that were dropped: whole turns, the oldest first. */
  readonly dropped: readonly ChatMessage[];
}

/**
 * Drop the oldest turns where there is too little room for an answer. So much goes at once that it will not be needed
 * again soon: every time, the model must read again all that follows the system message.
 *
 * @param answer tokens that the answer has at most
 */
export function fitContext(
  messages: readonly ChatMessage[],
  prepare: (messages: readonly ChatMessage[]) => PreparedPrompt,
  { context, answer = Infinity }: { readonly context: number; readonly answer?: number | undefined },
): Fitted {
  const least = Math.min(answer, Math.floor(context * LEAST_FREE));
  const prompt = prepare(messages);
  if (prompt.ids.length + least <= context) return { messages, prompt, dropped: [] };
  return dropTurns(messages, prepare, Math.floor(context * MADE_FREE));
}

/** As `fitContext`, in the midst of an answer of so many tokens. */
export function fitAnswer(
  messages: readonly ChatMessage[],
  prepare: (messages: readonly ChatMessage[]) => PreparedPrompt,
  { context, answered }: { readonly context: number; readonly answered: number },
): Fitted {
  return dropTurns(messages, prepare, Math.floor(context * MADE_FREE) - answered);
}

/** Drop whole turns until the rest has no more than `most` tokens. System messages in front and the last turn stay. */
function dropTurns(
  messages: readonly ChatMessage[],
  prepare: (messages: readonly ChatMessage[]) => PreparedPrompt,
  most: number,
): Fitted {
  const system = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  const first = system < 0 ? messages.length : system;
  const starts = messages.flatMap(({ role }, index) => (role === "user" && index > first ? [index] : []));
  let fitted: Fitted = { messages, prompt: prepare(messages), dropped: [] };
  for (const start of starts) {
    if (fitted.prompt.ids.length <= most) break;
    const kept = [...messages.slice(0, first), ...messages.slice(start)];
    fitted = { messages: kept, prompt: prepare(kept), dropped: messages.slice(first, start) };
  }
  return fitted;
}

/** Turns among dropped messages: as many as there are questions. */
export function turnsOf(dropped: readonly ChatMessage[]): number {
  return dropped.filter(({ role }) => role === "user").length;
}

/** What to tell the user of dropped turns. */
export function droppedText(
  dropped: readonly ChatMessage[],
  { context, computed }: { readonly context: number; readonly computed: number },
): string {
  const turns = turnsOf(dropped);
  const what = turns === 1 ? "the oldest turn is" : `the oldest ${turns} turns are`;
  const [begin] = dropped
    .find(({ role }) => role === "user")
    ?.content.trim()
    .split("\n") ?? [""];
  return `(the context of ${context} tokens is full: ${what} dropped, from "${shortenText(printableLine(begin), 40)}" on; ${computed} tokens are read again)`;
}
