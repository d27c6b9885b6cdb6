import { statSync } from "node:fs";
import { extname } from "node:path";
import { Command, Option } from "commander";
import { isStoreName } from "../models-on-disk/find-model.ts";
import { openCache } from "../store/cache.ts";
import { BatchRun } from "./batch/batch-run.ts";
import { type Input, openInput } from "./batch/input.ts";
import { INPUT_FORMATS, type InputFormat, inputFormat } from "./batch/items.ts";
import { withOutput } from "./batch/output.ts";
import { OUTPUT_FORMATS, type OutputFormat, resultWriter } from "./batch/result-line.ts";
import { type BatchSettings, keyMaker } from "./batch/settings.ts";
import { parseShard, type Shard } from "./batch/shard.ts";
import { surveyFile } from "./batch/survey.ts";
import { addEngineOptions, type EngineFlags } from "./engine-options.ts";
import { addUnpackOptions, ensureUnpacked, type UnpackFlags } from "./ensure-unpacked.ts";
import { MODEL_ARGUMENT, modelOrBundled } from "./model-argument.ts";
import { addGenerationOptions, collect, samplingOptions, wholeNumber } from "./options.ts";
import { protectInputs } from "./output-target.ts";
import {
  addPromptCacheOption,
  openPromptCache,
  type PromptCacheFlags,
  tellPromptTrouble,
} from "./prompt-cache.ts";
import { readBlock } from "./prompt-source.ts";
import { tell } from "./tell.ts";
import { addTemplateOptions } from "./template-options.ts";
import { addTimingsOption } from "./timings-file.ts";
import { withUnpacked } from "./with-model.ts";

type BatchFlags = BatchSettings &
  EngineFlags &
  UnpackFlags &
  PromptCacheFlags & {
    readonly model?: string;
    readonly out: string;
    readonly force?: boolean;
    readonly inFormat?: InputFormat;
    readonly outFormat?: OutputFormat;
    readonly parallel: number;
    readonly shard: Shard;
    readonly systemFile?: string;
  };

/** More do not fit into a sweep beside prompts. */
const MOST_PARALLEL = 64;
const DEFAULT_PARALLEL = 32;

const DETAILS = `
A line of the input is a JSON text, or an object: {"prompt": "…"}, or
{"messages": […]}, and with it id, system, temperature, top_k, top_p, min_p,
repeat_penalty, repeat_last_n, seed, max_tokens, stop, chat_template_kwargs.
CSV has them as columns; of .txt every line is a prompt.

Results are written as they come; when all are there, the file is put in the
order of the input. The same command goes on with a file that is not complete.
With temperature 0 or a seed, each result is what run gives for it.`;

export function batchCommand(): Command {
  const command = new Command("batch")
    .description(
      "Answer many prompts, all in the same sweeps: while a model streams from disk, thirty take little longer than one. Each answer is what `run` gives for that prompt alone.",
    )
    .argument("[model]", MODEL_ARGUMENT)
    .argument("[file]", "prompts: .jsonl, .csv or .txt; - or nothing: stdin")
    .option("-m, --model <file>", "the model, as an option")
    .option("-o, --out <file>", "results: .jsonl or .csv; -: stdout", "-")
    .option("--force", "write the output anew, whatever is there")
    .addOption(
      new Option("--in-format <format>", "format of the input (default: by its ending, else jsonl)").choices(
        INPUT_FORMATS,
      ),
    )
    .addOption(
      new Option(
        "--out-format <format>",
        "format of the output (default: by its ending, else as the input)",
      ).choices(OUTPUT_FORMATS),
    )
    .addOption(
      new Option("--parallel <n>", "sequences at a time at most; memory may allow fewer")
        .argParser(wholeNumber(1, MOST_PARALLEL))
        .default(DEFAULT_PARALLEL),
    )
    .addOption(
      new Option(
        "--shard <i/n>",
        "only every n-th prompt, beginning with the i-th: 1/4 to 4/4 make up the whole",
      )
        .argParser(parseShard)
        .default({ number: 1, of: 1 }, "all"),
    )
    .option("--system <text>", "system message, where a line has none")
    .option("--system-file <file>", "system message from a file")
    .option("--no-template", "no chat: the model continues the texts")
    .addOption(
      new Option("--stop <text>", "end where this text appears, and leave it out; may be repeated").argParser(
        collect,
      ),
    );
  addTemplateOptions(addGenerationOptions(command));
  addPromptCacheOption(command);
  addTimingsOption(command);
  return protectInputs(addUnpackOptions(addEngineOptions(command)), "out")
    .addHelpText("after", DETAILS)
    .action((first: string | undefined, second: string | undefined, flags: BatchFlags) =>
      batch(first, second, flags, command),
    );
}

async function batch(
  first: string | undefined,
  second: string | undefined,
  given: BatchFlags,
  command: Command,
): Promise<void> {
  const [argument, file] = modelAndFile(first, second, given, command);
  const path = modelOrBundled(argument, given.model, command);
  const sampling = samplingOptions(given, command);
  checkTexts(given, file, command);
  const system = given.systemFile === undefined ? given.system : await readBlock(given.systemFile);
  const settings = { ...given, ...(system !== undefined && { system }) };
  const { shard, parallel, out: name, force = false } = given;
  const input = await openInput(file, given.inFormat ?? inputFormat(file));
  const format = given.outFormat ?? outputFormat(name, input);
  const writer = resultWriter(format, input.columns);
  const folder = await ensureUnpacked(path, given);
  const keyOf = keyMaker(openCache(folder), settings);
  await withOutput(name, { format, head: writer.head, force }, async (output) => {
    const known =
      input.repeatable || input.empty
        ? await surveyFile(input, shard, { name, done: output.done }, keyOf)
        : { total: undefined, done: output.done.size };
    const { total, done } = known;
    if (total === done) {
      tell(
        total === 0
          ? `sluice: there are no prompts${shard.of > 1 ? ` in shard ${shard.number}/${shard.of}` : ""}`
          : `sluice: all ${total} are done already`,
      );
      return true;
    }
    if (done > 0) tell(`sluice: ${done}${total === undefined ? "" : ` of ${total}`} are done already`);
    const run = new BatchRun({
      input,
      shard,
      output,
      name,
      writer,
      settings,
      sampling,
      parallel,
      keyOf,
      ...known,
    });
    return withUnpacked(folder, given, async (model) => {
      const promptCache = openPromptCache(model, given);
      const whole = await run.answer(model, promptCache);
      tellPromptTrouble(promptCache);
      return whole;
    });
  });
}

/** One argument is the file, unless it can only be a model. */
function modelAndFile(
  first: string | undefined,
  second: string | undefined,
  { model }: BatchFlags,
  command: Command,
): [model: string | undefined, file: string] {
  const [argument, file] =
    second !== undefined || (first !== undefined && model === undefined && isModel(first))
      ? [first, second]
      : [undefined, first];
  if (file === undefined && process.stdin.isTTY)
    command.error(
      "error: no prompts: give a file of them, .jsonl, .csv or .txt, or let them come from stdin",
    );
  return [argument, file ?? "-"];
}

function isModel(argument: string): boolean {
  return (
    /\.gguf$/i.test(argument) ||
    isStoreName(argument) ||
    (statSync(argument, { throwIfNoEntry: false })?.isDirectory() ?? false)
  );
}

function checkTexts(
  { stop = [], system, systemFile, template }: BatchFlags,
  file: string,
  command: Command,
): void {
  if (stop.includes("")) command.error("error: --stop needs a text that is not empty");
  if (system !== undefined && systemFile !== undefined)
    command.error("error: more than one system message: give --system or --system-file, not both");
  if ((system ?? systemFile) !== undefined && !template)
    command.error("error: --system needs the chat template: leave out --no-template");
  if (systemFile === "-" && file === "-")
    command.error("error: stdin cannot be both prompts and system message");
}

function outputFormat(path: string, { format }: Input): OutputFormat {
  if (path === "-") return format === "csv" ? "csv" : "jsonl";
  return extname(path).toLowerCase() === ".csv" ? "csv" : "jsonl";
}
