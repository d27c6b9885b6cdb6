import { availableParallelism } from "node:os";
import { Command, Option } from "commander";
import { makePlan } from "../plan/plan.ts";
import { openSubject } from "../plan/subject.ts";
import { addCacheDirOption, resolveRoot } from "./cache-options.ts";
import { parseBytes } from "./engine-options.ts";
import { MODEL_ARGUMENT, modelOrBundled } from "./model-argument.ts";
import { print } from "./note.ts";
import { wholeNumber } from "./options.ts";
import { planJson, planLines } from "./plan-view.ts";
import { printableJson } from "./printable.ts";
import { noteLongContext } from "./with-model.ts";

interface Flags {
  model?: string;
  ctxSize?: number;
  threads?: number;
  kvRam?: number;
  json?: boolean;
  cacheDir?: string;
}

export function planCommand(): Command {
  const command = new Command("plan")
    .description(
      "Show what a model needs of disk and memory in each dtype, and how fast it will be on this machine. Unpacks nothing.",
    )
    .argument("[model]", MODEL_ARGUMENT)
    .option("-m, --model <file>", "the model, as an option")
    .addOption(
      new Option(
        "-c, --ctx-size <n>",
        "context to plan for in tokens (default: 4096, or the model's)",
      ).argParser(wholeNumber(1)),
    )
    .addOption(
      new Option("-t, --threads <n>", "compute threads (default: one for each processor)").argParser(
        wholeNumber(1),
      ),
    )
    .addOption(
      new Option("--kv-ram <size>", "plan for a KV cache that has so much memory, as 200M").argParser(
        parseBytes,
      ),
    )
    .option("--json", "as one JSON object");
  return addCacheDirOption(command).action(async (argument: string | undefined, flags: Flags) => {
    const subject = openSubject(modelOrBundled(argument, flags.model, command));
    const { threads = availableParallelism(), ctxSize, kvRam, cacheDir, json } = flags;
    noteLongContext(ctxSize ?? 0, subject.plan.model);
    const root = resolveRoot(cacheDir);
    const plan = await makePlan(subject, { root, threads, contextLength: ctxSize, kvRam });
    print(`${json ? printableJson(planJson(plan)) : planLines(plan).join("\n")}\n`);
  });
}
