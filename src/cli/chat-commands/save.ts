import { printableLine } from "../printable.ts";
import { tell } from "../tell.ts";
import type { ChatCommand } from "./command.ts";

export const save: ChatCommand = {
  name: "save",
  usage: "[NAME]",
  summary: "save under this name from now on (nothing: show it)",
  completions: (sessions) => sessions(),
  async run(talk, argument) {
    const { keeper } = talk;
    if (argument !== "") {
      const name = await keeper.saveAs(talk, argument);
      tell(`Saved as ${printableLine(name)}, and again after every answer.`);
    } else if (talk.conversation.turns.length === 0) {
      const next =
        keeper.name === undefined ? "" : `; what is said next is saved as ${printableLine(keeper.name)}`;
      tell(`There is nothing to save yet${next}.`);
    } else if (keeper.name === undefined) tell("This conversation is not saved yet: /save NAME does.");
    else tell(`This conversation is saved as ${printableLine(keeper.name)} after every answer.`);
  },
};
