import { Command, Option } from "commander";
import type { GeneratedToken } from "../engine/types.ts";
import { AnswerView } from "./answer-view.ts";
import { answerWithin } from "./answer-within.ts";
import { addEngineOptions, type EngineFlags } from "./engine-options.ts";
import { addUnpackOptions, type UnpackFlags } from "./ensure-unpacked.ts";
import { interruptSignal, signalExitCode } from "./interrupt.ts";
import { chooseModel } from "./model-argument.ts";
import { note, print } from "./note.ts";
import { addGenerationOptions, type GenerationFlags, samplingOptions, wholeNumber } from "./options.ts";
import { droppedText, type Overflow, overflowOption } from "./overflow.ts";
import { type PreparedPrompt, preparePrompt } from "./prepare-prompt.ts";
import { printableJson } from "./printable.ts";
import { type PromptFlags, promptSource, readPrompt } from "./prompt-source.ts";
import { reportRun } from "./run-report.ts";
import { addTemplateOptions, type TemplateFlags } from "./template-options.ts";
import { thinkMarks } from "./thinking.ts";
import { noteMemory, verdictLines } from "./verdict-view.ts";
import { withModel } from "./with-model.ts";

type RunFlags = PromptFlags &
  GenerationFlags &
  TemplateFlags &
  EngineFlags &
  UnpackFlags & {
    readonly model?: string;
    readonly showTemplate?: boolean;
    readonly overflow: Overflow;
    readonly logprobs?: number;
    readonly json?: boolean;
    readonly verbose?: boolean;
  };

export function runCommand(): Command {
  const command = new Command("run")
    .description("Generate one answer. It goes to stdout as it comes, everything else to stderr.")
    .argument("[model]", "GGUF file, or the folder of an unpacked model")
    .option("-m, --model <file>", "GGUF file, as an option")
    .option("-p, --prompt <text>", "prompt; - reads it from stdin")
    .option("-f, --file <file>", "prompt from a file")
    .option("--messages <file>", "a whole conversation: a JSON list of messages")
    .option("--system <text>", "system message")
    .option("--no-template", "no chat: the model continues the text")
    .option("--show-template", "print what the model gets to read, on stderr");
  const logprobs = new Option("--logprobs <n>", "with --json: each token's log-probability, and the n best");
  addGenerationOptions(command)
    .addOption(overflowOption())
    .addOption(logprobs.argParser(wholeNumber(0)))
    .option("--json", "print one JSON object at the end instead of the text")
    .option("--verbose", "print times at the end: load, prefill, decode, and by layer");
  addTemplateOptions(command);
  return addUnpackOptions(addEngineOptions(command)).action((argument: string | undefined, flags: RunFlags) =>
    run(argument, flags, command),
  );
}

async function run(argument: string | undefined, flags: RunFlags, command: Command): Promise<void> {
  const path = chooseModel(argument, flags.model, command);
  const source = promptSource(flags, command);
  const sampling = samplingOptions(flags, command);
  const { json = false, predict, logprobs } = flags;
  if (logprobs !== undefined && !json) command.error("error: --logprobs needs --json");
  if (flags.overflow === "slide" && source.kind !== "messages") {
    command.error("error: --overflow slide needs --messages: a single prompt has no older turns to drop");
  }
  const input = await readPrompt(source, flags);
  await withModel(path, flags, async (model) => {
    const context = model.contextLength;
    const session = model.createSession();
    const tokens: GeneratedToken[] = [];
    const marks = thinkMarks((flags.chatTemplateFile ?? model.template).source);
    let view: AnswerView | undefined;
    let prompt: PreparedPrompt | undefined;
    const result = await answerWithin(model, session, typeof input === "string" ? [] : input, {
      overflow: flags.overflow,
      prepare: (messages) => preparePrompt(model, typeof input === "string" ? input : messages, flags),
      ...(!json && { marks }),
      sampling,
      ...(predict >= 0 && { maxTokens: predict }),
      ...(logprobs !== undefined && { logprobs }),
      signal: interruptSignal,
      onPrompt: (read) => {
        prompt = read;
        if (read.warning) note(read.warning);
        if (flags.showTemplate) note(read.text);
        const room = flags.overflow === "slide" ? Infinity : context - read.ids.length + 1;
        const thinking = typeof input !== "string" && read.text.trimEnd().endsWith(marks.open);
        view = new AnswerView({ marks, thinking, limit: Math.min(predict >= 0 ? predict : Infinity, room) });
      },
      onProgress: (progress) => view?.onProgress(progress),
      onToken: (token) => {
        if (json) tokens.push(token);
        view?.write(json ? "" : token.text);
      },
      onDrop: (dropped, computed) => {
        const told = `sluice: ${droppedText(dropped, { context, computed })}`;
        if (view) view.remark(told);
        else note(told);
      },
    }).finally(() => view?.end());
    if (json) {
      const report = reportRun({ model, session, prompt: prompt!, tokens, result });
      print(`${printableJson(report, 0)}\n`);
    }
    if (flags.verbose) note((await verdictLines(model, { loadMs: model.loadMs, ...result })).join("\n"));
    else noteMemory(model, result.decode);
    if (result.stop === "context") {
      const slides = source.kind === "messages" && flags.overflow === "stop";
      const advice = slides
        ? "Raise it with -c, or drop the oldest turns: --overflow slide."
        : "Raise it with -c.";
      note(`sluice: stopped: the context of ${context} tokens is full\n  ${advice}`);
    }
    if (result.stop === "abort") process.exitCode = signalExitCode(interruptSignal.reason);
  });
}
