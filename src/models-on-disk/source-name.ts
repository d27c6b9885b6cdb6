import { resolve } from "node:path";
import { modelFileName } from "../gguf/split-names.ts";
import { ollamaFileName } from "./ollama.ts";

/** What a model's file is called: without the number of a part, and as Ollama calls what lies in its store as a hash. */
export function sourceName(path: string): string {
  return ollamaFileName(path) ?? repositoryName(path) ?? modelFileName(path);
}

/** Of a snapshot in the Hugging Face cache, `models--ORG--NAME/snapshots/COMMIT`, the name; a commit tells nobody anything. */
export function repositoryName(folder: string): string | undefined {
  const found = /models--(?:.*--)?([^/\\]+)[/\\]snapshots[/\\][^/\\]+$/.exec(resolve(folder));
  return found?.[1];
}
