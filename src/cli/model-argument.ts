import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { note } from "./note.ts";

/** The small chat model that comes with sluice. */
export const BUNDLED_MODEL = fileURLToPath(new URL("../../models/tiny-chat-q8_0.gguf", import.meta.url));

/** What the argument is called in every command whose model may be either. */
export const MODEL_ARGUMENT =
  "GGUF file, or the folder of an unpacked model (default: the small model that comes with sluice)";

/** The same where only the file will do. */
export const MODEL_FILE_ARGUMENT = "GGUF file (default: the small model that comes with sluice)";

/**
 * The model, given as an argument or with -m; without either it is `fallback`. Both are a usage error of `command`.
 */
export function chooseModel(
  argument: string | undefined,
  option: string | undefined,
  command: Command,
  fallback: string,
): string {
  if (argument !== undefined && option !== undefined) {
    command.error("error: more than one model: give it as an argument or with -m, not both");
  }
  return argument ?? option ?? fallback;
}

/** The same, where the bundled model stands in for none: people are told so. */
export function modelOrBundled(
  argument: string | undefined,
  option: string | undefined,
  command: Command,
): string {
  const path = chooseModel(argument, option, command, BUNDLED_MODEL);
  if (argument === undefined && option === undefined && process.stderr.isTTY)
    note("sluice: no model given: taking the small one that comes with sluice");
  return path;
}
