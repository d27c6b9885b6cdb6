import { dirname } from "node:path";
import { Command } from "commander";
import { OVERHEAD_BYTES } from "../engine/budget.ts";
import type { Model } from "../engine/model.ts";
import type { Session } from "../engine/session.ts";
import type { GenerateResult } from "../engine/types.ts";
import { formatBytes } from "../format-bytes.ts";
import { diskSpeed, WORTH_MEASURING_BYTES } from "../stream/disk-speed.ts";
import { sumStages, sumTimings } from "../timing/statistics.ts";
import { answerWithin } from "./answer-within.ts";
import { addDraftOption, type DraftFlags } from "./draft-option.ts";
import { addEngineOptions, type EngineFlags } from "./engine-options.ts";
import { addUnpackOptions, type UnpackFlags } from "./ensure-unpacked.ts";
import { glyphsFor } from "./glyphs.ts";
import { interruptSignal, signalExitCode } from "./interrupt.ts";
import { modelOrBundled } from "./model-argument.ts";
import { note } from "./note.ts";
import { addGenerationOptions, type GenerationFlags, samplingOptions } from "./options.ts";
import { droppedText } from "./overflow.ts";
import { preparePrompt } from "./prepare-prompt.ts";
import { printableLine } from "./printable.ts";
import { formatDuration } from "./progress-bars.ts";
import { type PromptFlags, promptSource, readPrompt } from "./prompt-source.ts";
import { addEndingOptions, addPromptOptions, checkEnding, type EndingFlags, noteFullContext } from "./run.ts";
import { tell } from "./tell.ts";
import { addTemplateOptions, type TemplateFlags } from "./template-options.ts";
import { thinkMarks } from "./thinking.ts";
import { addTimingsOption } from "./timings-file.ts";
import { verdictLines } from "./verdict-view.ts";
import type { WatchSubject } from "./watch-state.ts";
import { paceTexts } from "./watch-text.ts";
import { WatchView } from "./watch-view.ts";
import { withModel } from "./with-model.ts";
import { printWrapped } from "./word-wrap.ts";

type WatchFlags = PromptFlags &
  GenerationFlags &
  TemplateFlags &
  EngineFlags &
  DraftFlags &
  UnpackFlags &
  EndingFlags & {
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
  addEndingOptions(addGenerationOptions(command)).option(
    "--verbose",
    "print times at the end: load, prefill, decode, and by layer",
  );
  addTimingsOption(addTemplateOptions(command)).addHelpText("after", KEYS);
  return addUnpackOptions(addDraftOption(addEngineOptions(command))).action(
    (argument: string | undefined, flags: WatchFlags) => watch(argument, flags, command),
  );
}

async function watch(argument: string | undefined, flags: WatchFlags, command: Command): Promise<void> {
  const path = modelOrBundled(argument, flags.model, command);
  const source = promptSource(flags, command);
  const sampling = samplingOptions(flags, command);
  checkEnding(flags, source, command);
  const { predict, stop = [] } = flags;
  const input = await readPrompt(source, flags, command);
  await withModel(path, flags, async (model) => {
    const session = model.createSession();
    const quit = new AbortController();
    const started = performance.now();
    const context = model.contextLength;
    const remarks: string[] = [];
    let view: WatchView | undefined;
    const result = await answerWithin(model, session, typeof input === "string" ? [] : input, {
      overflow: flags.overflow,
      prepare: (messages) => preparePrompt(model, typeof input === "string" ? input : messages, flags),
      marks: thinkMarks((flags.chatTemplateFile ?? model.template).source),
      sampling,
      stop,
      ...(predict >= 0 && { maxTokens: predict }),
      signal: AbortSignal.any([quit.signal, interruptSignal]),
      onPrompt: (prompt) => {
        if (prompt.warning) tell(prompt.warning);
        if (flags.showTemplate) note(prompt.text);
        view = new WatchView({
          subject: subjectOf(model, prompt.ids.length, flags),
          look: () => look(model, session),
          onQuit: () => quit.abort(),
        });
      },
      onProgress: (progress) => view?.onProgress(progress),
      onToken: (token) => view?.onToken(token),
      // The window is no place for it: what is written there is gone with it.
      onDrop: (dropped, computed) => remarks.push(`sluice: ${droppedText(dropped, { context, computed })}`),
    }).finally(() => {
      view?.end();
      const text = view?.text ?? "";
      if (text !== "") printWrapped(text.endsWith("\n") ? text : `${text}\n`, process.stdout);
    });
    for (const remark of remarks) tell(remark);
    tell(summaryLine(model, result, (performance.now() - started) / 1000));
    if (flags.verbose) note((await verdictLines(model, { loadMs: model.loadMs, ...result })).join("\n"));
    if (result.stop === "context") noteFullContext(context, flags, source);
    if (result.stop === "abort" && interruptSignal.aborted)
      process.exitCode = signalExitCode(interruptSignal.reason);
  });
}

function subjectOf(model: Model, promptTokens: number, { predict, overflow }: WatchFlags): WatchSubject {
  const { manifest, folder, contextLength } = model;
  const { ringBytes, residentBytes, streamedBytes, direct, threads } = model.memory();
  const { text, between } = glyphsFor(process.env);
  const { name, architecture, layers } = manifest.model;
  const speed = streamedBytes < WORTH_MEASURING_BYTES ? undefined : diskSpeed(dirname(folder));
  const room = overflow === "slide" ? Infinity : contextLength - promptTokens + 1;
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
    tokenLimit: predict >= 0 ? Math.min(predict, room) : Infinity,
    contextLength,
    weightBytes: ringBytes + residentBytes,
    overheadBytes: OVERHEAD_BYTES,
    source: streamedBytes === 0 ? "memory" : direct ? "disk" : "page cache",
    diskSpeed: (direct ? speed?.direct : speed?.buffered) ?? undefined,
  };
}

function look(model: Model, session: Session) {
  return {
    position: model.progress.position(),
    rssBytes: process.memoryUsage.rss(),
    kvBytes: session.kvBytes,
    contextTokens: session.ids.length,
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
    const { ms, guessMs, tokens } = sumStages(decode);
    pieces.push(...paceTexts((ms + guessMs) / 1000 / tokens));
    const read = (model.memory().streamedBytes * decode.length) / tokens;
    pieces.push(`${formatBytes(read)} read for each`);
  }
  const { ms, embedding, layers, output } = sumStages([...prefill, ...decode]);
  const { waitMs } = sumTimings([embedding, ...layers, output]);
  if (ms > 0) pieces.push(`${Math.round((100 * waitMs) / ms)} % waiting`);
  pieces.push(`peak ${formatBytes(process.resourceUsage().maxRSS * 1024)}`);
  return pieces.join(between);
}
