import { note } from "../note.ts";
import type { ChatCommand } from "./command.ts";

const KEYS = `
"""             starts a message of several lines; """ at the end of a line ends it
Alt-Enter       starts a new line; pasted lines stay one message
Up, Ctrl-R      what was typed before; Tab completes commands
Ctrl-C          stops an answer, or empties the line; again: leaves
/no_think goes to the model. Put a space before any other message that starts with a slash.`;

/** The command that lists all commands. */
export function helpCommand(commands: () => readonly ChatCommand[]): ChatCommand {
  return {
    name: "help",
    summary: "this list",
    run: () => note(`${helpLines(commands()).join("\n")}\n${KEYS}`),
  };
}

function helpLines(commands: readonly ChatCommand[]): string[] {
  const heads = commands.map(({ name, usage }) => (usage ? `/${name} ${usage}` : `/${name}`));
  const width = Math.max(...heads.map((head) => head.length), 14);
  return commands.map(({ summary }, index) => `${heads[index].padEnd(width)}  ${summary}`);
}
