import { homedir, userInfo } from "node:os";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { findModel } from "../models-on-disk/find-model.ts";
import { modelPlaces, type Places } from "../models-on-disk/places.ts";
import { tell } from "./tell.ts";

/** The small chat model that comes with sluice. */
export const BUNDLED_MODEL = fileURLToPath(new URL("../../models/tiny-chat-q8_0.gguf", import.meta.url));

const MODEL_FILE =
  "GGUF file (of a split one any part, or their folder), folder of a Hugging Face model in safetensors, or hf:ORG/REPO[:QUANT], ollama:NAME[:TAG], lmstudio:PUBLISHER/MODEL[:QUANT] from where these programs keep models";
const DEFAULT = "(default: the small model that comes with sluice)";

/** What the argument is called in a command that wants a model, a file or an unpacked one. */
export const MODEL_NEEDED = `${MODEL_FILE}; or the folder of an unpacked model`;

/** The same where the bundled model stands in for none. */
export const MODEL_ARGUMENT = `${MODEL_NEEDED} ${DEFAULT}`;

/** The same where only the file will do. */
export const MODEL_FILE_ARGUMENT = `${MODEL_FILE} ${DEFAULT}`;

/** The file that a name in another program's store means; paths are given back. */
export function resolveModel(text: string): string {
  return findModel(text, places());
}

/** Where other programs keep their models here. */
export function places(): Places {
  return modelPlaces({ env: process.env, home: homedir() || userInfo().homedir });
}

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
  const given = argument ?? option;
  return given === undefined ? fallback : resolveModel(given);
}

/** The same, where the bundled model stands in for none: people are told so. */
export function modelOrBundled(
  argument: string | undefined,
  option: string | undefined,
  command: Command,
): string {
  const path = chooseModel(argument, option, command, BUNDLED_MODEL);
  if (argument === undefined && option === undefined && process.stderr.isTTY)
    tell("sluice: no model given: taking the small one that comes with sluice");
  return path;
}
