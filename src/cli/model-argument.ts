import { fileURLToPath } from "node:url";
import type { Command } from "commander";

/** The small chat model that comes with sluice. */
export const BUNDLED_MODEL = fileURLToPath(new URL("../../models/tiny-chat-q8_0.gguf", import.meta.url));

/**
 * The model file, given as an argument or with -m; both, or neither without a `fallback`, are usage errors of
 * `command`.
 */
export function chooseModel(
  argument: string | undefined,
  option: string | undefined,
  command: Command,
  fallback?: string,
): string {
  if (argument !== undefined && option !== undefined) {
    command.error("error: more than one model: give it as an argument or with -m, not both");
  }
  return (
    argument ??
    option ??
    fallback ??
    command.error("error: no model: give a GGUF file, as an argument or with -m")
  );
}
