/** Where an output goes, and that it destroys nothing: a mistyped name must not cost a model of gigabytes. */
import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { SluiceError } from "../errors.ts";
import { isOwnFile, JOURNAL, MANIFEST } from "../store/names.ts";

const MODEL = "GGUF";
/** What files begin with that are never written over. */
const PRECIOUS: readonly (readonly [magic: string, name: string])[] = [
  [MODEL, "a model file"],
  ["sluice chat\n", "a saved conversation: `sluice sessions rm` deletes it"],
];
const INPUT_ARGUMENTS = new Set(["model", "file", "recording", "other"]);
/** Where the path of `--chat-template-file` is kept once its file was read. */
export const TEMPLATE_PATH = "chatTemplatePath";
const OUTPUTS = new Set(["out", "html", "timings"]);

/** Where a path leads to, though nothing may be there yet: a link stays, and what it leads to is written. */
export function endOfLinks(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })) return realpathSync(path);
  const dangling = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
  return dangling ? endOfLinks(resolve(realpathSync(dirname(path)), readlinkSync(path))) : path;
}

/** Let a command begin only where the file of its option `name` may be written: see `checkTarget`. */
export function protectInputs(command: Command, name: "out" | "html"): Command {
  return command.hook("preAction", (acting) => {
    const path: string | undefined = acting.getOptionValue(name);
    if (path !== undefined && path !== "-") checkTarget(path, inputsOf(acting), `--${name}`);
  });
}

/** Files that a command reads, as its command line has them. */
export function inputsOf(command: Command): string[] {
  const options = command.options
    .filter((option) => option.flags.includes("<file>") && !OUTPUTS.has(option.attributeName()))
    .map((option) => command.getOptionValue(option.attributeName()));
  const template: unknown = command.getOptionValue(TEMPLATE_PATH);
  const positional = command.registeredArguments.map((argument, index) =>
    INPUT_ARGUMENTS.has(argument.name()) ? command.args[index] : undefined,
  );
  return [...options, template, ...positional].filter((value) => typeof value === "string");
}

/**
 * Refuse a file to be written that is one of those that are read, whatever it is called, or one that nobody wants to lose:
 * a model, a file of an unpacked one, a saved conversation. Devices and pipes are fine.
 *
 * @param inputs files, or folders of unpacked models; stdin is one of them always
 * @param option that gave the path
 * @param mayBeModel whether another model's file may be replaced
 * @throws SluiceError `bad-input`
 */
export function checkTarget(
  path: string,
  inputs: readonly string[],
  option: string,
  { mayBeModel = false }: { readonly mayBeModel?: boolean } = {},
): void {
  const target = statOf(path);
  const refuse = (problem: string) =>
    new SluiceError("bad-input", `${path} is not written: ${problem}`, {
      next: `Give another file with ${option}.`,
    });
  const folder = statOf(dirname(path)) && realpathSync(dirname(path));
  if (!target && folder !== undefined && isUnpacked(folder))
    throw refuse("its folder is that of an unpacked model, which is deleted as a whole");
  if (!target?.isFile()) return;
  const input = inputs.find((input) => filesOf(input).some((file) => isSame(statOf(file), target)));
  const problem =
    input !== undefined
      ? `this command reads it${input === path ? "" : ` as ${input}`}`
      : isSame(stdinStat(), target)
        ? "this command reads it as stdin"
        : preciousness(path, mayBeModel);
  if (problem !== undefined) throw refuse(problem);
}

function preciousness(path: string, mayBeModel: boolean): string | undefined {
  const real = realpathSync(path);
  const folder = dirname(real);
  if (isOwnFile(basename(real)) && isUnpacked(folder)) return `it is a file of an unpacked model`;
  const beginning = beginningOf(real);
  const found = PRECIOUS.find(([magic]) => beginning.startsWith(magic) && !(mayBeModel && magic === MODEL));
  return found && `it is ${found[1]}`;
}

function isUnpacked(folder: string): boolean {
  return [MANIFEST, JOURNAL].some((name) => existsSync(join(folder, name)));
}

function beginningOf(path: string): string {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch {
    // Whether it can be written all the same is for whoever tries.
    return "";
  }
  try {
    const bytes = Buffer.alloc(16);
    return bytes.toString("latin1", 0, readSync(fd, bytes));
  } finally {
    closeSync(fd);
  }
}

/** A file, or those in a folder. */
function filesOf(input: string): string[] {
  return statOf(input)?.isDirectory() ? readdirSync(input).map((name) => join(input, name)) : [input];
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // No such path, or none that leads anywhere: whoever opens it says so.
    return undefined;
  }
}

function stdinStat(): Stats | undefined {
  try {
    return fstatSync(0);
  } catch {
    // It was closed.
    return undefined;
  }
}

function isSame(a: Stats | undefined, b: Stats): boolean {
  return a?.isFile() === true && a.dev === b.dev && a.ino === b.ino;
}
