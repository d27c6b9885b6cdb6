import { statSync } from "node:fs";
import { Argument, Command, InvalidArgumentError } from "commander";
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { RECIPE_NAMES, type RecipeName } from "../quantize/mix.ts";
import { quantizeModel } from "../quantize/quantize-model.ts";
import { interruptSignal } from "./interrupt.ts";
import { resolveModel } from "./model-argument.ts";
import { checkIsNoFolder } from "./model-file.ts";
import { print } from "./note.ts";
import { wholeNumber } from "./options.ts";
import { checkTarget } from "./output-target.ts";
import { printableLine } from "./printable.ts";
import { ProgressBars } from "./progress-bars.ts";

interface Flags {
  readonly threads?: number;
  readonly force?: boolean;
}

export function quantizeCommand(): Command {
  return new Command("quantize")
    .description(
      "Write a model file of F32, F16 or BF16 with its matrices in fewer bits, for sluice, llama.cpp and whatever else reads GGUF.",
    )
    .argument("<in>", "GGUF file (of a split one any part), or hf:…, ollama:…, lmstudio:…")
    .argument("<out>", "GGUF file to write")
    .addArgument(
      new Argument(
        "<type>",
        "what matrices become; q4_k_m and q5_k_m keep those that matter most in q6_k, and all but q8_0 the output matrix",
      )
        .choices(RECIPE_NAMES)
        // In capitals as well: that is how files are named.
        .argParser(parseRecipe),
    )
    .option("-t, --threads <n>", "threads (default: one for each processor)", wholeNumber(1, 256))
    .option("--force", "replace a file that is there already")
    .action(async (from: string, out: string, type: RecipeName, flags: Flags) => {
      const source = resolveModel(from);
      checkIsNoFolder(source);
      checkOutput(source, out, flags.force ?? false);
      const bars = new ProgressBars();
      const bar = bars.add(`to ${type}`, 0);
      let total = 0;
      try {
        const made = await quantizeModel(source, out, type, {
          ...(flags.threads !== undefined && { threads: flags.threads }),
          signal: interruptSignal,
          onProgress(done, all) {
            if (total !== all) bar.restart(`to ${type}`, all);
            total = all;
            bar.update(done);
          },
        });
        bars.stop();
        const types = [...made.types].map(([name, count]) => `${count} ${name}`).join(", ");
        const [before, after] = [formatBytes(made.sourceBytes), formatBytes(statSync(out).size)];
        print(
          `Wrote ${printableLine(out)}: ${after} instead of ${before}, in ${(made.ms / 1000).toFixed(1)} s\n`,
        );
        print(`Tensors: ${types}\n`);
      } finally {
        bars.stop();
      }
    });
}

function parseRecipe(text: string): RecipeName {
  const found = RECIPE_NAMES.find((name) => name === text.toLowerCase());
  if (found === undefined) throw new InvalidArgumentError(`Allowed choices are ${RECIPE_NAMES.join(", ")}.`);
  return found;
}

/** A file that is there is only replaced when that is wanted, and the source never. */
function checkOutput(source: string, out: string, force: boolean): void {
  const there = statSync(out, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (!there.isFile())
    throw new SluiceError(
      "bad-input",
      `${out} is ${there.isDirectory() ? "a folder" : "a device or a pipe"}`,
      {
        next: "Give the name of a file: it appears when it is whole.",
      },
    );
  if (!force)
    throw new SluiceError("bad-input", `${out} is there already`, {
      next: "Give another name, or --force to replace it.",
    });
  checkTarget(out, [source], "OUT", { mayBeModel: true });
}
