import { note } from "../note.ts";
import { printableLine } from "../printable.ts";
import type { ChatCommand } from "./command.ts";

export const undo: ChatCommand = {
  name: "undo",
  summary: "take back the last question and its answer",
  run(talk) {
    const turn = talk.conversation.undo();
    talk.unanswered = undefined;
    const left = talk.conversation.turns.length;
    note(
      turn === undefined
        ? "There is nothing to take back."
        : `Taken back: ${shortened(turn.question)} (${left === 1 ? "1 turn is" : `${left} turns are`} left)`,
    );
  },
};

/** The beginning of a message, in one line. */
export function shortened(text: string): string {
  const line = printableLine(text.trim());
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
