import { Command, Option } from "commander";
import type { Model } from "../engine/model.ts";
import type { GenerateResult } from "../engine/types.ts";
import { answer } from "./answer.ts";
import { addEngineOptions, type EngineFlags } from "./engine-options.ts";
import { addUnpackOptions, type UnpackFlags } from "./ensure-unpacked.ts";
import { EXPLAINED } from "./explain-view.ts";
import { interruptSignal, signalExitCode } from "./interrupt.ts";
import { BUNDLED_MODEL, chooseModel } from "./model-argument.ts";
import { note } from "./note.ts";
import {
  addGenerationOptions,
  collect,
  type GenerationFlags,
  samplingOptions,
  wholeNumber,
} from "./options.ts";
import { preparePrompt } from "./prepare-prompt.ts";
import { type Prompt, type PromptFlags, promptSource, readPrompt } from "./prompt-source.ts";
import { RunOutput } from "./run-output.ts";
import { reportRun } from "./run-report.ts";
import { addTemplateOptions, type TemplateFlags } from "./template-options.ts";
import { noteMemory, verdictLines } from "./verdict-view.ts";
import { withModel } from "./with-model.ts";

type RunFlags = PromptFlags &
  GenerationFlags &
  TemplateFlags &
  EngineFlags &
  UnpackFlags & {
    readonly model?: string;
    readonly showTemplate?: boolean;
    readonly logprobs?: number;
    readonly stop?: readonly string[];
    readonly explain?: boolean;
    readonly json?: boolean;
    readonly jsonLines?: boolean;
    readonly verbose?: boolean;
  };

/** Model and prompt: what is to be answered, and by whom. */
export function addPromptOptions(command: Command): Command {
  return command
    .argument("[model]", "GGUF file, or the folder of an unpacked model")
    .option("-m, --model <file>", "GGUF file, as an option")
    .option(
      "-p, --prompt <text>",
      "prompt; - reads it from stdin, as does no prompt at all where stdin is no terminal",
    )
    .option("-f, --file <file>", "prompt from a file")
    .option("--messages <file>", "a whole conversation: a JSON list of messages")
    .option("--system <text>", "system message")
    .option("--system-file <file>", "system message from a file")
    .option("--no-template", "no chat: the model continues the text")
    .option("--show-template", "print what the model gets to read, on stderr");
}

export function runCommand(): Command {
  const command = addPromptOptions(
    new Command("run").description(
      "Generate one answer. It goes to stdout as it comes, everything else to stderr. Without a model, the small one that comes with sluice answers.",
    ),
  );
  const logprobs = new Option(
    "--logprobs <n>",
    "with --json or --json-lines: each token's log-probability, and the n best",
  );
  const stop = new Option("--stop <text>", "end where this text appears, and leave it out; may be repeated");
  addGenerationOptions(command)
    .addOption(logprobs.argParser(wholeNumber(0)))
    .addOption(stop.argParser(collect))
    .option("--explain", "show for each token the best candidates, and what the sampler removed")
    .addOption(
      new Option("--json", "print one JSON object at the end instead of the text").conflicts("jsonLines"),
    )
    .option("--json-lines", "print a line of JSON for each event: start, token, end, error")
    .option("--verbose", "print times at the end: load, prefill, decode, and by layer");
  addTemplateOptions(command);
  return addUnpackOptions(addEngineOptions(command)).action((argument: string | undefined, flags: RunFlags) =>
    run(argument, flags, command),
  );
}

async function run(argument: string | undefined, flags: RunFlags, command: Command): Promise<void> {
  const path = chooseModel(argument, flags.model, command, BUNDLED_MODEL);
  if (argument === undefined && flags.model === undefined && process.stderr.isTTY) {
    note("sluice: no model given: the small one that comes with sluice answers");
  }
  const source = promptSource(flags, command);
  const sampling = samplingOptions(flags, command);
  const { predict, logprobs, stop = [] } = flags;
  const format = flags.json ? "json" : flags.jsonLines ? "json-lines" : "text";
  if (logprobs !== undefined && format === "text") {
    command.error("error: --logprobs needs --json or --json-lines");
  }
  if (stop.includes("")) command.error("error: --stop needs a text that is not empty");
  const output = new RunOutput(format);
  const generate = async (model: Model, input: Prompt) => {
    const prompt = preparePrompt(model, input, flags);
    if (prompt.warning) note(prompt.warning);
    if (flags.showTemplate) note(prompt.text);
    const session = model.createSession();
    output.start(model, prompt);
    let result: GenerateResult | undefined;
    const generation = answer(session, prompt.ids, {
      sampling,
      stop,
      ...(predict >= 0 && { maxTokens: predict }),
      ...(logprobs !== undefined && { logprobs }),
      ...(flags.explain && { explain: EXPLAINED }),
      signal: interruptSignal,
      onProgress: output.onProgress,
      onToken: output.onToken,
    });
    try {
      result = await generation;
    } finally {
      output.close(result);
    }
    output.end(reportRun({ model, session, prompt, tokens: output.tokens, result }), model);
    if (flags.verbose) note((await verdictLines(model, { loadMs: model.loadMs, ...result })).join("\n"));
    else noteMemory(model, result.decode);
    if (result.stop === "context") {
      note(`sluice: stopped: the context of ${model.contextLength} tokens is full\n  Raise it with -c.`);
    }
    if (result.stop === "abort") process.exitCode = signalExitCode(interruptSignal.reason);
  };
  try {
    const input = await readPrompt(source, flags, command);
    await withModel(path, flags, (model) => generate(model, input));
  } catch (error) {
    output.fail(error);
    throw error;
  }
}
