import { printableLine } from "../printable.ts";
import type { Talk } from "../talk.ts";
import { tell } from "../tell.ts";
import { shortenText } from "../wrap-text.ts";
import type { ChatCommand } from "./command.ts";

export const undo: ChatCommand = {
  name: "undo",
  summary: "take back the last question and its answer",
  run(talk) {
    const turn = talk.conversation.undo();
    talk.unanswered = undefined;
    if (turn === undefined) return tell(`There is nothing to take back${whatWasDropped(talk)}.`);
    const { turns, forgotten } = talk.conversation;
    const left = turns.length - forgotten;
    const kept = left === 1 ? "1 turn is" : `${left} turns are`;
    tell(`Taken back: ${shortened(turn.question)} (${kept} left${left === 0 ? whatWasDropped(talk) : ""})`);
  },
};

/** What to say where there is no question to answer anew. */
export function noQuestion(talk: Talk): string {
  return `There is no question${talk.conversation.forgotten === 0 ? " yet" : whatWasDropped(talk)}.`;
}

/** The end of a sentence about there being no turn: why, where there were some. */
function whatWasDropped({ conversation: { forgotten } }: Talk): string {
  if (forgotten === 0) return "";
  return `: ${forgotten === 1 ? "the turn before was" : `the ${forgotten} turns before were`} dropped from the context`;
}

/** The beginning of a message, in one line. */
export function shortened(text: string): string {
  return shortenText(printableLine(text.trim()), 60);
}
