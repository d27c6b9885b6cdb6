import { tell } from "../tell.ts";
import { printWrapped } from "../word-wrap.ts";
import type { ChatCommand } from "./command.ts";

export const system: ChatCommand = {
  name: "system",
  usage: "[TEXT]",
  summary: "set the system message (nothing: show it; -: remove it)",
  run({ conversation }, text) {
    if (text !== "") {
      conversation.system = text === "-" ? "" : text;
      tell(text === "-" ? "There is no system message now." : "The system message is set.");
    } else if (conversation.system === "") tell("There is no system message.");
    else printWrapped(`The system message is: ${conversation.system}\n`, process.stderr);
  },
};
