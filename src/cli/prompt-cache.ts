/** `--prompt-cache`: whether, and on how much disk, beginnings of prompts are kept. */
import { type Command, Option } from "commander";
import type { Model } from "../engine/model.ts";
import { PromptStore } from "../prompt-store/prompt-store.ts";
import { parseBytes } from "./engine-options.ts";
import { failureLines } from "./exit.ts";
import { tell } from "./tell.ts";

export interface PromptCacheFlags {
  readonly promptCache?: number;
  readonly tempCache?: boolean;
}

export function addPromptCacheOption(command: Command): Command {
  return command.addOption(
    new Option(
      "--prompt-cache <size>",
      "disk space for beginnings of prompts, which need not be read again; 0: none are kept or used",
    )
      .env("SLUICE_PROMPT_CACHE")
      .argParser(parseBytes)
      .default(2e9, "2G"),
  );
}

/** Undefined where none is wanted, or where nothing of the cache will be left. */
export function openPromptCache(
  model: Model,
  { promptCache = 0, tempCache = false }: PromptCacheFlags,
): PromptStore | undefined {
  return promptCache > 0 && !tempCache ? new PromptStore(model, { bytes: promptCache }) : undefined;
}

/** Say, once, that beginnings are not kept any more. */
export function tellPromptTrouble(store: PromptStore | undefined): void {
  const trouble = store?.takeTrouble();
  if (trouble) tell(failureLines(trouble).join("\n"));
}
