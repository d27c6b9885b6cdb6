import { note } from "../note.ts";
import { tell } from "../tell.ts";
import type { ChatCommand } from "./command.ts";

export const system: ChatCommand = {
  name: "system",
  usage: "[TEXT]",
  summary: "set the system message (nothing: show it; -: take it away)",
  run({ conversation }, text) {
    if (text !== "") {
      conversation.system = text === "-" ? "" : text;
      tell(text === "-" ? "There is no system message now." : "The system message is set.");
    } else if (conversation.system === "") tell("There is no system message.");
    else note(`The system message is: ${conversation.system}`);
  },
};
