import { Command, type Command as Commander, Option } from "commander";
import type { Model } from "../engine/model.ts";
import type { LensPosition } from "../engine/types.ts";
import { decodeUtf8 } from "../text/utf8.ts";
import { addEngineOptions, type EngineFlags } from "./engine-options.ts";
import { addUnpackOptions, type UnpackFlags } from "./ensure-unpacked.ts";
import { type LensReport, lensPage } from "./html/lens-page.ts";
import { interruptSignal } from "./interrupt.ts";
import { lensLines } from "./lens-view.ts";
import { LiveLine } from "./live-line.ts";
import { MODEL_ARGUMENT, modelOrBundled } from "./model-argument.ts";
import { note, print } from "./note.ts";
import { wholeNumber } from "./options.ts";
import { protectInputs } from "./output-target.ts";
import { type PreparedPrompt, preparePrompt } from "./prepare-prompt.ts";
import { printableJson } from "./printable.ts";
import { promptSource, readPrompt } from "./prompt-source.ts";
import { modelReport } from "./run-report.ts";
import { addTemplateOptions, type TemplateFlags } from "./template-options.ts";
import { withModel } from "./with-model.ts";
import { writeOutput } from "./write-output.ts";

type LensFlags = EngineFlags &
  UnpackFlags &
  TemplateFlags & {
    readonly model?: string;
    readonly prompt?: string;
    readonly file?: string;
    readonly chat?: boolean;
    readonly positions: number;
    readonly top: number;
    readonly json?: boolean;
    readonly html?: string;
  };

/** As many as one sweep takes. */
const POSITIONS = 16;

export function lensCommand(): Commander {
  const command = new Command("lens")
    .description(
      "Logit lens: what the model would say next after each of its layers, at each of the last positions of a text.",
    )
    .argument("[model]", MODEL_ARGUMENT)
    .option("-m, --model <file>", "the model, as an option")
    .option(
      "-p, --prompt <text>",
      "the text; - reads it from stdin, as does no text at all where stdin is no terminal",
    )
    .option("-f, --file <file>", "text from a file")
    .option("--chat", "the text is a question: put it through the chat template")
    .addOption(
      new Option(
        "--positions <n>",
        "how many positions, the last ones of the text; every 16 read the model once",
      )
        .argParser(wholeNumber(1))
        .default(POSITIONS),
    )
    .addOption(
      new Option("--top <n>", "with --json and --html: most probable tokens of each")
        .argParser(wholeNumber(1, 10))
        .default(5),
    )
    .option("--json", "as one JSON object")
    .option("--html <file>", "draw it as a heat map, into one HTML file; - for stdout")
    .addOption(
      new Option("-c, --ctx-size <n>", "longest text in tokens (default: as the model allows)").argParser(
        wholeNumber(1),
      ),
    );
  addTemplateOptions(command);
  return protectInputs(addUnpackOptions(addEngineOptions(command)), "html").action(
    async (argument: string | undefined, flags: LensFlags) => {
      const path = modelOrBundled(argument, flags.model, command);
      const promptFlags = { ...flags, template: flags.chat === true };
      const input = await readPrompt(promptSource(promptFlags, command), promptFlags, command);
      await withModel(path, flags, async (model) => {
        const prompt = preparePrompt(model, input, flags);
        if (prompt.warning) note(prompt.warning);
        await show(model, prompt, flags);
      });
    },
  );
}

async function show(model: Model, prompt: PreparedPrompt, flags: LensFlags): Promise<void> {
  const { layers } = model.manifest.model;
  const live = new LiveLine(process.stderr);
  const found = await model
    .lens(prompt.ids, {
      positions: flags.positions,
      signal: interruptSignal,
      onProgress: (layer, done) =>
        live.show(() => [`token ${done}/${prompt.ids.length} · layer ${layer}/${layers.length}`]),
    })
    .finally(() => live.clear());
  const report = reportLens(model, prompt, found, flags.top);
  if (flags.html !== undefined) {
    const page = Buffer.from(lensPage(report));
    await writeOutput(flags.html, async (write) => write(page), "--html");
    if (flags.html !== "-") note(`The page is ${flags.html}`);
    if (!flags.json || flags.html === "-") return;
  }
  const lines = flags.json
    ? [printableJson(report, 0)]
    : lensLines(found, model.tokenizer, process.stdout.columns || 80);
  print(`${lines.join("\n")}\n`);
}

function reportLens(
  model: Model,
  { text }: PreparedPrompt,
  positions: readonly LensPosition[],
  top: number,
): LensReport {
  const piece = (id: number) => decodeUtf8(model.tokenizer.bytes(id, true));
  return {
    model: modelReport(model),
    text,
    positions: positions.map(({ position, id, stages }) => ({
      position,
      id,
      piece: piece(id),
      stages: stages.map((best) =>
        best
          .slice(0, top)
          .map(({ id, logprob }) => ({ id, piece: piece(id), probability: Math.exp(logprob) })),
      ),
    })),
  };
}
