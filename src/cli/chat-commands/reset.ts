import { tell } from "../tell.ts";
import type { ChatCommand } from "./command.ts";

export const reset: ChatCommand = {
  name: "reset",
  summary: "forget the conversation",
  run(talk) {
    talk.conversation.reset();
    talk.session.reset();
    talk.unanswered = undefined;
    talk.keeper.begin(talk);
    tell("The conversation is forgotten; the system message stays.");
  },
};
