import { note } from "../note.ts";
import { printableLine } from "../printable.ts";
import type { ChatCommand } from "./command.ts";

export const save: ChatCommand = {
  name: "save",
  usage: "[NAME]",
  summary: "name the conversation: it is saved under it from now on (nothing: show its name)",
  async run(talk, argument) {
    const { keeper } = talk;
    if (argument !== "") {
      const name = await keeper.saveAs(talk, argument);
      note(`Saved as ${printableLine(name)}, and again after every answer.`);
    } else if (keeper.name === undefined) note("This conversation is not saved yet: /save NAME does.");
    else note(`This conversation is saved as ${printableLine(keeper.name)} after every answer.`);
  },
};
