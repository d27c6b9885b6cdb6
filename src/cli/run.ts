import { Command, Option } from "commander";
import type { GeneratedToken } from "../engine/types.ts";
import { answer } from "./answer.ts";
import { AnswerView } from "./answer-view.ts";
import { addEngineOptions, type EngineFlags } from "./engine-options.ts";
import { addUnpackOptions, type UnpackFlags } from "./ensure-unpacked.ts";
import { interruptSignal, signalExitCode } from "./interrupt.ts";
import { chooseModel } from "./model-argument.ts";
import { note, print } from "./note.ts";
import { addGenerationOptions, type GenerationFlags, samplingOptions, wholeNumber } from "./options.ts";
import { preparePrompt } from "./prepare-prompt.ts";
import { printableJson } from "./printable.ts";
import { type PromptFlags, promptSource, readPrompt } from "./prompt-source.ts";
import { reportRun } from "./run-report.ts";
import { addTemplateOptions, type TemplateFlags } from "./template-options.ts";
import { addTimingsOption } from "./timings-file.ts";
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
    .addOption(logprobs.argParser(wholeNumber(0)))
    .option("--json", "print one JSON object at the end instead of the text")
    .option("--verbose", "print times at the end: load, prefill, decode, and by layer");
  addTemplateOptions(command);
  addTimingsOption(command);
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
  const input = await readPrompt(source, flags);
  await withModel(path, flags, async (model) => {
    const prompt = preparePrompt(model, input, flags);
    if (prompt.warning) note(prompt.warning);
    if (flags.showTemplate) note(prompt.text);
    const session = model.createSession();
    const view = new AnswerView();
    const tokens: GeneratedToken[] = [];
    const result = await answer(session, prompt.ids, {
      sampling,
      ...(predict >= 0 && { maxTokens: predict }),
      ...(logprobs !== undefined && { logprobs }),
      signal: interruptSignal,
      onProgress: view.onProgress,
      onToken: (token) => {
        if (json) tokens.push(token);
        view.write(json ? "" : token.text);
      },
    }).finally(() => view.end());
    if (json) {
      const report = reportRun({ model, session, prompt, tokens, result });
      print(`${printableJson(report, 0)}\n`);
    }
    if (flags.verbose) note((await verdictLines(model, { loadMs: model.loadMs, ...result })).join("\n"));
    else noteMemory(model, result.decode);
    if (result.stop === "context") {
      note(`sluice: stopped: the context of ${model.contextLength} tokens is full\n  Raise it with -c.`);
    }
    if (result.stop === "abort") process.exitCode = signalExitCode(interruptSignal.reason);
  });
}
