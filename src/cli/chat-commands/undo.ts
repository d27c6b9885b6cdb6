import { printableLine } from "../printable.ts";
import { tell } from "../tell.ts";
import { shortenText } from "../wrap-text.ts";
import type { ChatCommand } from "./command.ts";

export const undo: ChatCommand = {
  name: "undo",
  summary: "take back the last question and its answer",
  run(talk) {
    const turn = talk.conversation.undo();
    talk.unanswered = undefined;
    const left = talk.conversation.turns.length;
    tell(
      turn === undefined
        ? "There is nothing to take back."
        : `Taken back: ${shortened(turn.question)} (${left === 1 ? "1 turn is" : `${left} turns are`} left)`,
    );
  },
};

/** The beginning of a message, in one line. */
export function shortened(text: string): string {
  return shortenText(printableLine(text.trim()), 60);
}
