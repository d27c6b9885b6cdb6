import { Command, Option } from "commander";
import type { Model } from "../engine/model.ts";
import type { GenerateResult } from "../engine/types.ts";
import { answerWithin } from "./answer-within.ts";
import { addDraftOption, type DraftFlags } from "./draft-option.ts";
import { addEngineOptions, type EngineFlags } from "./engine-options.ts";
import { addUnpackOptions, type UnpackFlags } from "./ensure-unpacked.ts";
import { EXPLAINED } from "./explain-view.ts";
import { interruptSignal, signalExitCode } from "./interrupt.ts";
import { MODEL_ARGUMENT, modelOrBundled } from "./model-argument.ts";
import { note } from "./note.ts";
import {
  addGenerationOptions,
  collect,
  type GenerationFlags,
  samplingOptions,
  wholeNumber,
} from "./options.ts";
import { droppedText, type Overflow, overflowOption } from "./overflow.ts";
import { type PreparedPrompt, preparePrompt } from "./prepare-prompt.ts";
import {
  addPromptCacheOption,
  openPromptCache,
  type PromptCacheFlags,
  tellPromptTrouble,
} from "./prompt-cache.ts";
import {
  type Prompt,
  type PromptFlags,
  type PromptSource,
  promptSource,
  readPrompt,
} from "./prompt-source.ts";
import { RunOutput } from "./run-output.ts";
import { reportRun } from "./run-report.ts";
import { tell } from "./tell.ts";
import { addTemplateOptions, type TemplateFlags } from "./template-options.ts";
import { thinkMarks } from "./thinking.ts";
import { addTimingsOption } from "./timings-file.ts";
import { noteMemory, verdictLines } from "./verdict-view.ts";
import { withModel } from "./with-model.ts";

type RunFlags = PromptFlags &
  GenerationFlags &
  TemplateFlags &
  EngineFlags &
  DraftFlags &
  UnpackFlags &
  PromptCacheFlags &
  EndingFlags & {
    readonly model?: string;
    readonly showTemplate?: boolean;
    readonly logprobs?: number;
    readonly explain?: boolean;
    readonly json?: boolean;
    readonly jsonLines?: boolean;
    readonly verbose?: boolean;
  };

/** Model and prompt: what is to be answered, and by whom. */
export function addPromptOptions(command: Command): Command {
  return command
    .argument("[model]", MODEL_ARGUMENT)
    .option("-m, --model <file>", "the model, as an option")
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

export interface EndingFlags {
  readonly overflow: Overflow;
  readonly stop?: readonly string[];
}

/** Where an answer ends, other than by the model or by its length. */
export function addEndingOptions(command: Command): Command {
  const stop = new Option("--stop <text>", "end where this text appears, and leave it out; may be repeated");
  return command.addOption(overflowOption()).addOption(stop.argParser(collect));
}

/** What makes no sense is a usage error of `command`. */
export function checkEnding(
  { stop = [], overflow }: EndingFlags,
  source: PromptSource,
  command: Command,
): void {
  if (stop.includes("")) command.error("error: --stop needs a text that is not empty");
  if (overflow === "slide" && source.kind !== "messages") {
    command.error("error: --overflow slide needs --messages: a single prompt has no older turns to drop");
  }
}

/** Say that the answer ended where the context is full, and what to do. */
export function noteFullContext(context: number, { overflow }: EndingFlags, source: PromptSource): void {
  const slides = source.kind === "messages" && overflow === "stop";
  const advice = slides
    ? "Raise it with -c, or drop the oldest turns: --overflow slide."
    : "Raise it with -c.";
  tell(`sluice: stopped: the context of ${context} tokens is full\n  ${advice}`);
}

export function runCommand(): Command {
  const command = addPromptOptions(
    new Command("run").description(
      "Generate one answer. It goes to stdout as it comes, everything else to stderr.",
    ),
  );
  const logprobs = new Option(
    "--logprobs <n>",
    "with --json or --json-lines: each token's log-probability, and the n best",
  );
  addEndingOptions(addGenerationOptions(command))
    .addOption(logprobs.argParser(wholeNumber(0)))
    .option("--explain", "show for each token the best candidates, and what the sampler removed")
    .addOption(
      new Option("--json", "print one JSON object at the end instead of the text").conflicts("jsonLines"),
    )
    .option("--json-lines", "print a line of JSON for each event: start, token, end, error")
    .option("--verbose", "print times at the end: load, prefill, decode, and by layer");
  addTemplateOptions(command);
  addPromptCacheOption(command);
  addTimingsOption(command);
  return addUnpackOptions(addDraftOption(addEngineOptions(command))).action(
    (argument: string | undefined, flags: RunFlags) => run(argument, flags, command),
  );
}

async function run(argument: string | undefined, flags: RunFlags, command: Command): Promise<void> {
  const path = modelOrBundled(argument, flags.model, command);
  const source = promptSource(flags, command);
  const sampling = samplingOptions(flags, command);
  const { predict, logprobs, stop = [] } = flags;
  const format = flags.json ? "json" : flags.jsonLines ? "json-lines" : "text";
  if (logprobs !== undefined && format === "text") {
    command.error("error: --logprobs needs --json or --json-lines");
  }
  checkEnding(flags, source, command);
  const output = new RunOutput(format);
  const generate = async (model: Model, input: Prompt) => {
    const context = model.contextLength;
    const promptCache = openPromptCache(model, flags);
    const session = model.createSession({ promptCache });
    const marks = thinkMarks((flags.chatTemplateFile ?? model.template).source);
    let prompt: PreparedPrompt | undefined;
    let result: GenerateResult | undefined;
    const generation = answerWithin(model, session, typeof input === "string" ? [] : input, {
      overflow: flags.overflow,
      prepare: (messages) => preparePrompt(model, typeof input === "string" ? input : messages, flags),
      ...(format === "text" && { marks }),
      sampling,
      stop,
      ...(predict >= 0 && { maxTokens: predict }),
      ...(logprobs !== undefined && { logprobs }),
      ...(flags.explain && { explain: EXPLAINED }),
      signal: interruptSignal,
      onPrompt: (read) => {
        prompt = read;
        if (read.warning) tell(read.warning);
        if (flags.showTemplate) note(read.text);
        const room = flags.overflow === "slide" ? Infinity : context - read.ids.length + 1;
        const thinking = typeof input !== "string" && read.text.trimEnd().endsWith(marks.open);
        const limit = Math.min(predict >= 0 ? predict : Infinity, room);
        output.start(model, read, { marks, thinking, limit });
      },
      onProgress: output.onProgress,
      onToken: output.onToken,
      onDrop: (dropped, computed) => {
        output.remark(`sluice: ${droppedText(dropped, { context, computed })}`);
      },
    });
    try {
      result = await generation;
    } finally {
      output.close(result);
    }
    output.end(reportRun({ model, session, prompt: prompt!, tokens: output.tokens, result }), model);
    if (flags.verbose) note((await verdictLines(model, { loadMs: model.loadMs, ...result })).join("\n"));
    else noteMemory(model, result.decode);
    tellPromptTrouble(promptCache);
    if (result.stop === "context") noteFullContext(context, flags, source);
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
