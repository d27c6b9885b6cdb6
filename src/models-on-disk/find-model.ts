import { existsSync } from "node:fs";
import { SluiceError } from "../errors.ts";
import { findHuggingFace } from "./hugging-face.ts";
import { findLmStudio } from "./lm-studio.ts";
import { findOllama } from "./ollama.ts";
import type { Places } from "./places.ts";

const SPEC = /^(hf|ollama|lmstudio):(.*)$/s;
/** Characters of names on the hubs; nothing that leads out of a folder. */
const NAME = /^[\w][\w.-]*(\/[\w][\w.-]*){0,2}$/;

/** Whether a text is the name of a model in another program's store. */
export function isStoreName(text: string): boolean {
  return SPEC.test(text);
}

/**
 * The file of a model: a path as it is, `hf:org/repo[:quant]`, `ollama:name[:tag]` or `lmstudio:publisher/model[:quant]`
 * where these programs keep it. Of a split model any part. A file that is really called so comes first.
 *
 * @throws SluiceError `bad-input` for a name that is none, that is not here or could be several, with what there is
 */
export function findModel(text: string, places: Places): string {
  if (!isStoreName(text) || existsSync(text)) return text;
  const { store, rest, name, tag } = parseName(text);
  if (store === "hf") return findHuggingFace(places.huggingFace, name, tag);
  if (store === "lmstudio") return findLmStudio(places.lmStudio, name, tag);
  return findOllama(places.ollama, rest);
}

/**
 * The parts of `hf:org/repo[:quant]`.
 *
 * @throws SluiceError `bad-input` for anything else
 */
export function parseHubName(text: string): { readonly repo: string; readonly quant: string | undefined } {
  const isPlain = !isStoreName(text) && isRepo(text.split(":", 1)[0]);
  const { store, name, tag } = isStoreName(text) ? parseName(text) : { store: "", name: "", tag: undefined };
  if (store === "hf" && isRepo(name)) return { repo: name, quant: tag };
  throw new SluiceError("bad-input", `${JSON.stringify(text)} is no name of a model on a Hugging Face hub`, {
    next: isPlain ? `Perhaps hf:${text} is meant.` : "Names are hf:ORG/REPO[:QUANT].",
  });
}

function parseName(text: string) {
  const [, store, rest] = SPEC.exec(text)!;
  const [, name, tag] = /^([^:]*)(?::(.*))?$/s.exec(rest)!;
  if (NAME.test(name) && (tag === undefined || /^[\w][\w./-]*$/.test(tag))) return { store, rest, name, tag };
  throw new SluiceError("bad-input", `${JSON.stringify(text)} is no name of a model`, {
    next: "Names are hf:ORG/REPO[:QUANT], ollama:NAME[:TAG] and lmstudio:PUBLISHER/MODEL[:QUANT].",
  });
}

/** `org/repo`, or `repo` alone as old ones are called. */
function isRepo(name: string): boolean {
  return NAME.test(name) && name.split("/").length <= 2;
}
