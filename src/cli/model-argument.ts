import { homedir, userInfo } from "node:os";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { findModel } from "../models-on-disk/find-model.ts";
import { modelPlaces } from "../models-on-disk/places.ts";

/** The small chat model that comes with sluice. */
export const BUNDLED_MODEL = fileURLToPath(new URL("../../models/tiny-chat-q8_0.gguf", import.meta.url));

/** What help says of MODEL, of commands that take an unpacked one too and of those that want the file. */
export const MODEL_FILE =
  "GGUF file (of a split one any part, or their folder), or hf:ORG/REPO[:QUANT], ollama:NAME[:TAG], lmstudio:PUBLISHER/MODEL[:QUANT] from where these programs keep models";
export const MODEL_OR_FOLDER = `${MODEL_FILE}; or the folder of an unpacked model`;

/** The file that a name in another program's store means; paths are given back. */
export function resolveModel(text: string): string {
  return findModel(text, modelPlaces({ env: process.env, home: homedir() || userInfo().homedir }));
}

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
  const given = argument ?? option;
  if (given !== undefined) return resolveModel(given);
  return fallback ?? command.error("error: no model: give a GGUF file, as an argument or with -m");
}
