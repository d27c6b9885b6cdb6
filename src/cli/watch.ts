import { dirname } from "node:path";
import { Command } from "commander";
import { OVERHEAD_BYTES } from "../engine/budget.ts";
import type { Model } from "../engine/model.ts";
import type { Session } from "../engine/session.ts";
import type { GenerateResult } from "../engine/types.ts";
import { formatBytes } from "../format-bytes.ts";
import { diskSpeed, WORTH_MEASURING_BYTES } from "../stream/disk-speed.ts";
import { sumStages, sumTimings } from "../timing/statistics.ts";
import { answer } from "./answer.ts";
import { addEngineOptions, type EngineFlags } from "./engine-options.ts";
import { addUnpackOptions, type UnpackFlags } from "./ensure-unpacked.ts";
import { glyphsFor } from "./glyphs.ts";
import { interruptSignal, signalExitCode } from "./interrupt.ts";
import { modelOrBundled } from "./model-argument.ts";
import { note, print } from "./note.ts";
import { addGenerationOptions, type GenerationFlags, samplingOptions } from "./options.ts";
import { preparePrompt } from "./prepare-prompt.ts";
import { printableLine } from "./printable.ts";
import { formatDuration } from "./progress-bars.ts";
import { type PromptFlags, promptSource, readPrompt } from "./prompt-source.ts";
import { addPromptOptions } from "./run.ts";
import { addTemplateOptions, type TemplateFlags } from "./template-options.ts";
import { addTimingsOption } from "./timings-file.ts";
import { verdictLines } from "./verdict-view.ts";
import type { WatchSubject } from "./watch-state.ts";
import { paceTexts } from "./watch-text.ts";
import { WatchView } from "./watch-view.ts";
import { withModel } from "./with-model.ts";

type WatchFlags = PromptFlags &
  GenerationFlags &
  TemplateFlags &
  EngineFlags &
  UnpackFlags & {
    readonly model?: string;
    readonly showTemplate?: boolean;
    readonly verbose?: boolean;
  };

const KEYS = `
While it generates, the window shows what of the layers was read and computed, how fast the disk is read, how much of the
time the arithmetic waits for it, memory, tokens and text. q or Ctrl-C stops. Without a terminal, with TERM=dumb or CI,
and in a window smaller than 40x10 there are plain lines instead. Afterwards the answer goes to stdout.`;

export function watchCommand(): Command {
  const command = addPromptOptions(
    new Command("watch").description(
      "Generate one answer as run does, and watch the model at work on the whole window.",
    ),
  );
  addGenerationOptions(command).option(
    "--verbose",
    "print times at the end: load, prefill, decode, and by layer",
  );
  addTimingsOption(addTemplateOptions(command)).addHelpText("after", KEYS);
  return addUnpackOptions(addEngineOptions(command)).action(
    (argument: string | undefined, flags: WatchFlags) => watch(argument, flags, command),
  );
}

async function watch(argument: string | undefined, flags: WatchFlags, command: Command): Promise<void> {
  const path = modelOrBundled(argument, flags.model, command);
  const source = promptSource(flags, command);
  const sampling = samplingOptions(flags, command);
  const { predict } = flags;
  const input = await readPrompt(source, flags, command);
  await withModel(path, flags, async (model) => {
    const prompt = preparePrompt(model, input, flags);
    if (prompt.warning) note(prompt.warning);
    if (flags.showTemplate) note(prompt.text);
    const session = model.createSession();
    const quit = new AbortController();
    const started = performance.now();
    const view = new WatchView({
      subject: subjectOf(model, prompt.ids.length, predict),
      look: () => look(model, session),
      onQuit: () => quit.abort(),
    });
    const result = await answer(session, prompt.ids, {
      sampling,
      ...(predict >= 0 && { maxTokens: predict }),
      signal: AbortSignal.any([quit.signal, interruptSignal]),
      onProgress: view.onProgress,
      onToken: view.onToken,
    }).finally(() => {
      view.end();
      if (view.text !== "") print(view.text.endsWith("\n") ? view.text : `${view.text}\n`);
    });
    note(summaryLine(model, result, (performance.now() - started) / 1000));
    if (flags.verbose) note((await verdictLines(model, { loadMs: model.loadMs, ...result })).join("\n"));
    if (result.stop === "context") {
      note(`sluice: stopped: the context of ${model.contextLength} tokens is full\n  Raise it with -c.`);
    }
    if (result.stop === "abort" && interruptSignal.aborted)
      process.exitCode = signalExitCode(interruptSignal.reason);
  });
}

function subjectOf(model: Model, promptTokens: number, predict: number): WatchSubject {
  const { manifest, folder, contextLength } = model;
  const { ringBytes, residentBytes, streamedBytes, direct, threads } = model.memory();
  const { text, between } = glyphsFor(process.env);
  const { name, architecture, layers } = manifest.model;
  const speed = streamedBytes < WORTH_MEASURING_BYTES ? undefined : diskSpeed(dirname(folder));
  const parts = [
    text(printableLine(name)),
    `${text(printableLine(architecture))}, ${layers.length} layers`,
    manifest.dtype,
    `${threads} ${threads === 1 ? "thread" : "threads"}`,
  ];
  return {
    title: parts.join(between),
    stages: model.progress.stages,
    promptTokens,
    tokenLimit: predict >= 0 ? Math.min(predict, contextLength - promptTokens + 1) : Infinity,
    contextLength,
    weightBytes: ringBytes + residentBytes,
    overheadBytes: OVERHEAD_BYTES,
    source: streamedBytes === 0 ? "memory" : direct ? "disk" : "page cache",
    diskSpeed: speed && Math.max(speed.direct ?? 0, speed.buffered),
  };
}

function look(model: Model, session: Session) {
  return {
    position: model.progress.position(),
    rssBytes: process.memoryUsage.rss(),
    kvBytes: session.kvBytes,
  };
}

/** `57 tokens in 1:09 · 1.21 s/token · 0.83 tokens/s · 3.27 GB read for each · 65 % waiting · peak 171 MB` */
function summaryLine(model: Model, { ids, prefill, decode, stop }: GenerateResult, seconds: number): string {
  const { between } = glyphsFor(process.env);
  const stopped = stop === "abort" ? "stopped after " : "";
  const pieces = [
    `${stopped}${ids.length} ${ids.length === 1 ? "token" : "tokens"} in ${formatDuration(seconds)}`,
  ];
  if (decode.length > 0) {
    const { ms } = sumStages(decode);
    pieces.push(...paceTexts(ms / 1000 / decode.length));
    pieces.push(`${formatBytes(model.memory().streamedBytes)} read for each`);
  }
  const { ms, embedding, layers, output } = sumStages([...prefill, ...decode]);
  const { waitMs } = sumTimings([embedding, ...layers, output]);
  if (ms > 0) pieces.push(`${Math.round((100 * waitMs) / ms)} % waiting`);
  pieces.push(`peak ${formatBytes(process.resourceUsage().maxRSS * 1024)}`);
  return pieces.join(between);
}
