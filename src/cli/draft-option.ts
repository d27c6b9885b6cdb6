/** `--draft`: who guesses tokens ahead (see docs/speculation.md). */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { DraftChoice } from "../engine/draft/open-drafts.ts";
import { formatBytes } from "../format-bytes.ts";
import { ensureUnpacked, type UnpackFlags } from "./ensure-unpacked.ts";
import { resolveModel } from "./model-argument.ts";
import { note } from "./note.ts";
import { type Bar, NAME_COLUMNS, ProgressBars } from "./progress-bars.ts";

export interface DraftFlags {
  /** As they are in a library, but that a model is a file or a name. */
  readonly draft?: readonly DraftChoice[];
}

const WORDS = ["lookup", "shadow"] as const;

export function addDraftOption(command: Command): Command {
  return command.addOption(
    new Option(
      "--draft <list>",
      "who guesses the next tokens, which one sweep then verifies: lookup (the text, where it repeats itself), shadow (a copy of the weights in fewer bits, made once and held within --ram), model:MODEL (a smaller one with the same vocabulary, in memory), several of them with commas, or none; answers are the same (default: lookup)",
    ).argParser(parseDrafts),
  );
}

/** @throws InvalidArgumentError for a word that is none */
export function parseDrafts(text: string): readonly DraftChoice[] {
  if (text === "none") return [];
  return text.split(",").map((word) => {
    const known = WORDS.find((one) => one === word.trim());
    if (known !== undefined) return known;
    if (!/^\s*model:./.test(word))
      throw new InvalidArgumentError(`It must be ${WORDS.join(", ")}, model:MODEL, or none.`);
    return { model: word.trim().slice("model:".length) };
  });
}

/** The same with the folders of unpacked models; what is not unpacked yet is unpacked. */
export async function chosenDrafts(
  { draft }: DraftFlags,
  { cacheDir, tempCache }: UnpackFlags,
): Promise<readonly DraftChoice[] | undefined> {
  const choices: DraftChoice[] = [];
  for (const choice of draft ?? [])
    choices.push(
      typeof choice === "string"
        ? choice
        : {
            model: await ensureUnpacked(resolveModel(choice.model), {
              ...(cacheDir !== undefined && { cacheDir }),
              ...(tempCache !== undefined && { tempCache }),
            }),
          },
    );
  return draft && choices;
}

/** Shows how a shadow is made: with a bar on a terminal, elsewhere in a line. */
export class ShadowView {
  readonly #bars = new ProgressBars(process.stderr);
  #bar: Bar | undefined;
  #told = false;

  readonly onShadow = (done: number, total: number): void => {
    if (!this.#told) note(`Making a copy of the weights to guess with: ${formatBytes(total)}, once`);
    this.#told = true;
    this.#bar ??= this.#bars.add("shadow".padEnd(NAME_COLUMNS), total);
    this.#bar.update(done);
  };

  end(): void {
    if (this.#bar) this.#bars.stop();
  }
}
