/** What shells need to know of the commands, taken from commander's definitions. */
import type { Command, Option } from "commander";

/** What can be typed at a place: one of some words, a path, a saved conversation, or what nobody can foresee. */
export type Completed =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "model" | "file" | "folder" | "session" | "text" };

export interface CompletedOption {
  /** As typed: -m, --model. */
  readonly names: readonly string[];
  readonly description: string;
  /** Absent where it takes no value. */
  readonly value?: Completed;
}

export interface CompletedCommand {
  /** Words that lead to it, joined by "/"; the program itself is "". */
  readonly path: string;
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  /** What its arguments are, in order; the last one may be given several times. */
  readonly values: readonly Completed[];
  readonly commands: readonly CompletedCommand[];
}

/** The program and all its commands but the hidden ones, each followed by those below it. */
export function describeCommands(program: Command): readonly CompletedCommand[] {
  const flatten = (command: CompletedCommand): CompletedCommand[] => [
    command,
    ...command.commands.flatMap(flatten),
  ];
  return flatten(describe(program, ""));
}

function describe(command: Command, path: string): CompletedCommand {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).map((child) => {
    return describe(child, path === "" ? child.name() : `${path}/${child.name()}`);
  });
  const names = commands.map(({ name }) => name).filter((name) => name !== "help");
  return {
    path,
    name: command.name(),
    summary: command.summary() || command.description(),
    options: help.visibleOptions(command).map(describeOption),
    values:
      command.name() === "help"
        ? [{ kind: "words", words: command.parent ? siblings(command) : names }]
        : command.registeredArguments.map((argument) => {
            const isSession = path.startsWith("sessions/") && argument.name() === "name";
            return placeOf(isSession ? "session" : argument.name(), argument.argChoices);
          }),
    commands,
  };
}

/** `help` explains the commands beside it. */
function siblings(help: Command): string[] {
  const { parent } = help;
  return parent === null
    ? []
    : parent
        .createHelp()
        .visibleCommands(parent)
        .map((command) => command.name())
        .filter((name) => name !== "help");
}

function describeOption(option: Option): CompletedOption {
  const names = [option.short, option.long].filter((name) => name !== undefined);
  const [, placeholder] = /[<[]([^>\]]+)[>\]]/.exec(option.flags) ?? [];
  const value = placeholder === undefined ? undefined : placeOf(placeholder, option.argChoices, names);
  return { names, description: option.description, ...(value && { value }) };
}

/** What a placeholder stands for: the names are the same in all commands. */
function placeOf(
  placeholder: string,
  choices: readonly string[] | undefined,
  options: readonly string[] = [],
): Completed {
  if (choices !== undefined) return { kind: "words", words: choices };
  if (placeholder === "model" || options.includes("--model")) return { kind: "model" };
  if (placeholder === "file" || placeholder === "dir")
    return { kind: placeholder === "dir" ? "folder" : "file" };
  if (placeholder === "session" || options.includes("--resume")) return { kind: "session" };
  if (placeholder === "shell") return { kind: "words", words: ["bash", "zsh", "fish"] };
  return { kind: "text" };
}
