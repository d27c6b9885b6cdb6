import { SluiceError } from "../../errors.ts";
import { tell } from "../tell.ts";
import type { ChatCommand } from "./command.ts";

/** What else can be typed. */
const KEYS: readonly (readonly [keys: string, summary: string])[] = [
  ['"""', 'starts a message of several lines; """ at the end of a line ends it, Ctrl-C gives it up'],
  ["Alt-Enter", "starts a new line; pasted lines stay one message"],
  ["Up, Ctrl-R", "what was typed before; Tab completes commands and names"],
  ["Ctrl-C", "stops an answer, or empties the line; again: leaves"],
];

const ESCAPE = "/no_think goes to the model. Put a space before any other message that starts with a slash.";

/** The command that lists all commands. */
export function helpCommand(commands: () => readonly ChatCommand[]): ChatCommand {
  return {
    name: "help",
    usage: "[COMMAND]",
    summary: "this list, or what one of them does",
    completions: () => commands().map(({ name }) => name),
    run(_talk, argument) {
      if (argument === "") return tell([...rows([...commands().map(entry), [], ...KEYS]), ESCAPE].join("\n"));
      const name = argument.toLowerCase().replace(/^\//, "");
      const found = commands().find((command) => command.name === name);
      if (found === undefined)
        throw new SluiceError("bad-input", `there is no /${name}`, { next: "/help lists the commands." });
      tell(rows([entry(found)]).join("\n"));
    },
  };
}

type Row = readonly [head: string, summary: string] | readonly [];

function entry({ name, usage, summary }: ChatCommand): Row {
  return [usage ? `/${name} ${usage}` : `/${name}`, summary];
}

function rows(entries: readonly Row[]): string[] {
  const width = Math.max(...entries.map(([head = ""]) => head.length));
  return entries.map(([head = "", summary = ""]) => `${head.padEnd(width)}  ${summary}`.trimEnd());
}
