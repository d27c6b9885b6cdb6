/** The commands of the chat. A further one: a file like its neighbours, and a line in the list. */
import { nearest } from "../nearest.ts";
import type { ChatCommand } from "./command.ts";
import { edit } from "./edit.ts";
import { exit } from "./exit.ts";
import { helpCommand } from "./help.ts";
import { list } from "./list.ts";
import { load } from "./load.ts";
import { model } from "./model.ts";
import { regen } from "./regen.ts";
import { reset } from "./reset.ts";
import { save } from "./save.ts";
import { set } from "./set.ts";
import { stats } from "./stats.ts";
import { system } from "./system.ts";
import { think } from "./think.ts";
import { timings } from "./timings.ts";
import { tokens } from "./tokens.ts";
import { undo } from "./undo.ts";

/** In the order of the help. */
export const CHAT_COMMANDS: readonly ChatCommand[] = [
  // Of the conversation.
  regen,
  edit,
  undo,
  reset,
  system,
  // Of saved conversations.
  save,
  load,
  list,
  // Of answers, the model, and what it cost.
  set,
  think,
  stats,
  timings,
  tokens,
  model,
  helpCommand(() => CHAT_COMMANDS),
  exit,
];

/** The command of this name, in any case of letters. */
export function findCommand(name: string): ChatCommand | undefined {
  const typed = name.toLowerCase();
  return CHAT_COMMANDS.find(({ name, aliases = [] }) => name === typed || aliases.includes(typed));
}

function shownNames(): string[] {
  return CHAT_COMMANDS.flatMap(({ name, aliases = [] }) => [name, ...aliases.slice(0, 1)]);
}

/** What to say where there is no such command; none at all behind the slash is none either. */
export function unknownCommand(name: string): string {
  if (name === "") return "A slash begins a command: /help lists them.";
  const meant = nearest(name.toLowerCase(), shownNames());
  const advice = meant === undefined ? "" : ` Did you mean /${meant}?`;
  return `There is no /${name}.${advice} /help lists the commands.`;
}

/**
 * What a command that is being typed may become, or what follows it.
 *
 * @param sessions names of saved conversations
 */
export function completeCommand(text: string, sessions: () => readonly string[]): string[] {
  const [, name, typed] = /^\/([a-z]+) +(.*)$/is.exec(text) ?? [];
  if (name === undefined)
    return shownNames()
      .map((name) => `/${name}`)
      .filter((name) => text !== "" && name.startsWith(text));
  const known = findCommand(name)?.completions?.(sessions) ?? [];
  return known.filter((word) => word.startsWith(typed)).map((word) => `/${name} ${word}`);
}
