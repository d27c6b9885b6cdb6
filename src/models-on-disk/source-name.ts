import { modelFileName } from "../gguf/split-names.ts";
import { ollamaFileName } from "./ollama.ts";

/** What a model's file is called: without the number of a part, and as Ollama calls what lies in its store as a hash. */
export function sourceName(path: string): string {
  return ollamaFileName(path) ?? modelFileName(path);
}
