import { note } from "../note.ts";
import type { ChatCommand } from "./command.ts";

/** What else can be typed. */
const KEYS: readonly (readonly [keys: string, summary: string])[] = [
  ['"""', 'starts a message of several lines; """ at the end of a line ends it'],
  ["Alt-Enter", "starts a new line; pasted lines stay one message"],
  ["Up, Ctrl-R", "what was typed before; Tab completes commands"],
  ["Ctrl-C", "stops an answer, or empties the line; again: leaves"],
];

const ESCAPE = "/no_think goes to the model. Put a space before any other message that starts with a slash.";

/** The command that lists all commands. */
export function helpCommand(commands: () => readonly ChatCommand[]): ChatCommand {
  return {
    name: "help",
    summary: "this list",
    run: () => note([...helpLines(commands()), ESCAPE].join("\n")),
  };
}

function helpLines(commands: readonly ChatCommand[]): string[] {
  const entries = commands.map(({ name, usage, summary }) => {
    return [usage ? `/${name} ${usage}` : `/${name}`, summary] as const;
  });
  const width = Math.max(...entries.map(([head]) => head.length));
  const line = ([head, summary]: readonly [string, string]) => `${head.padEnd(width)}  ${summary}`;
  return [...entries.map(line), "", ...KEYS.map(line)];
}
