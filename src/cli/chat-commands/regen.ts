import { tell } from "../tell.ts";
import type { ChatCommand } from "./command.ts";
import { noQuestion, shortened } from "./undo.ts";

export const regen: ChatCommand = {
  name: "regen",
  summary: "answer the last question anew",
  async run(talk) {
    const question = talk.unanswered ?? talk.conversation.undo()?.question;
    if (question === undefined) return tell(noQuestion(talk));
    const { temperature, seed } = talk.settings.sampling;
    const same = temperature === 0 ? "temp is 0" : seed === undefined ? undefined : "the seed is set";
    tell(`Again: ${shortened(question)}${same ? ` (${same}: the answer will be the same)` : ""}`);
    await talk.ask(question);
  },
};
