import { note } from "../note.ts";
import type { ChatCommand } from "./command.ts";

export const system: ChatCommand = {
  name: "system",
  usage: "[TEXT]",
  summary: "set the system message (nothing: show it; -: take it away)",
  run({ conversation }, text) {
    if (text !== "") {
      conversation.system = text === "-" ? "" : text;
      note(text === "-" ? "There is no system message now." : "The system message is set.");
    } else if (conversation.system === "") note("There is no system message.");
    else note(`The system message is: ${conversation.system}`);
  },
};
