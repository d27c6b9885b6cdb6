import { printableLine } from "../printable.ts";
import { tell } from "../tell.ts";
import type { ChatCommand } from "./command.ts";

export const save: ChatCommand = {
  name: "save",
  usage: "[NAME]",
  summary: "name the conversation: it is saved under it from now on (nothing: show its name)",
  completions: (sessions) => sessions(),
  async run(talk, argument) {
    const { keeper } = talk;
    if (argument !== "") {
      const name = await keeper.saveAs(talk, argument);
      tell(`Saved as ${printableLine(name)}, and again after every answer.`);
    } else if (keeper.name === undefined) tell("This conversation is not saved yet: /save NAME does.");
    else tell(`This conversation is saved as ${printableLine(keeper.name)} after every answer.`);
  },
};
