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
  const spec = SPEC.exec(text);
  if (spec === null || existsSync(text)) return text;
  const [, store, rest] = spec;
  const [, name, tag] = /^([^:]*)(?::(.*))?$/s.exec(rest)!;
  if (!NAME.test(name) || tag === "" || (tag !== undefined && !/^[\w][\w./-]*$/.test(tag))) {
    throw new SluiceError("bad-input", `${JSON.stringify(text)} is no name of a model`, {
      next: "Names are hf:ORG/REPO[:QUANT], ollama:NAME[:TAG] and lmstudio:PUBLISHER/MODEL[:QUANT].",
    });
  }
  if (store === "hf") return findHuggingFace(places.huggingFace, name, tag);
  if (store === "lmstudio") return findLmStudio(places.lmStudio, name, tag);
  return findOllama(places.ollama, rest);
}
