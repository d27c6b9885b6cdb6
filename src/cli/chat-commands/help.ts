import { SluiceError } from "../../errors.ts";
import { listRows } from "../list-rows.ts";
import { tell } from "../tell.ts";
import type { ChatCommand } from "./command.ts";

/** What else can be typed. */
const KEYS: readonly (readonly [keys: string, summary: string])[] = [
  ['"""', 'begins several lines; """ at the end of one ends them'],
  ["Alt-Enter", "starts a new line; pasted lines stay one message"],
  ["Up, Ctrl-R", "what was typed before; Tab completes commands and names"],
  ["Ctrl-C", "stops an answer, or empties the line; again: leaves"],
];

const ESCAPE = "A space before a message that starts with a slash sends it to the model.";

/** The command that lists all commands. */
export function helpCommand(commands: () => readonly ChatCommand[]): ChatCommand {
  return {
    name: "help",
    usage: "[COMMAND]",
    summary: "this list, or what one of them does",
    completions: () => commands().map(({ name }) => name),
    run(_talk, argument) {
      if (argument === "") return tell(overview(commands()).join("\n"));
      const name = argument.toLowerCase().replace(/^\//, "");
      const found = commands().find((command) => namesOf(command).includes(name));
      if (found === undefined)
        throw new SluiceError("bad-input", `there is no /${name}`, { next: "/help lists the commands." });
      tell(listRows([entry(found)], process.stderr).join("\n"));
    },
  };
}

/** It has room in a window of 80 columns and 24 lines. */
function overview(commands: readonly ChatCommand[]): string[] {
  const rare = commands.filter((command) => command.rare).map((command) => entry(command)[0]);
  const common = commands.filter((command) => !command.rare).map(entry);
  return [
    ...listRows([...common, [], ...KEYS], process.stderr),
    `Also ${rare.join(", ")}: see /help COMMAND.`,
    ESCAPE,
  ];
}

function namesOf({ name, aliases = [] }: ChatCommand): string[] {
  return [name, ...aliases];
}

function entry({ name, aliases = [], usage, summary }: ChatCommand): [head: string, summary: string] {
  const names = [name, ...aliases.slice(0, 1)].map((name) => `/${name}`).join(", ");
  return [usage ? `${names} ${usage}` : names, summary];
}
