import { cpus } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { type BenchmarkResult, type BenchmarkTest, benchmark } from "../engine/benchmark.ts";
import { Drafter } from "../engine/draft/drafter.ts";
import { guessedPositions } from "../engine/draft/guessed-run.ts";
import { openDrafts } from "../engine/draft/open-drafts.ts";
import { prepareShadow } from "../engine/draft/prepare-shadow.ts";
import { Engine } from "../engine/engine.ts";
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { type Cache, openCache, weightFiles } from "../store/cache.ts";
import { type Summable, sumStages } from "../timing/statistics.ts";
import { guessLines, layerTable } from "../timing/table.ts";
import { version } from "../version.ts";
import { type BenchRecord, csvLines, markdownHead, markdownLine, summarize } from "./bench-report.ts";
import { recordCircumstances, recordModel } from "./describe-run.ts";
import { addDraftOption, chosenDrafts, type DraftFlags, ShadowView } from "./draft-option.ts";
import { addEngineOptions, type EngineFlags, engineOptions } from "./engine-options.ts";
import { addUnpackOptions, ensureUnpacked, type UnpackFlags } from "./ensure-unpacked.ts";
import { interruptSignal } from "./interrupt.ts";
import { LiveLine } from "./live-line.ts";
import { MODEL_ARGUMENT, modelOrBundled } from "./model-argument.ts";
import { print } from "./note.ts";
import { parseNumber, wholeNumber } from "./options.ts";
import { dropFromPageCache } from "./page-cache.ts";
import { printableJson } from "./printable.ts";
import { addTimingsOption, currentRecorder } from "./timings-file.ts";

type BenchFlags = EngineFlags &
  DraftFlags &
  UnpackFlags & {
    readonly model?: string;
    readonly prompt: number;
    readonly gen: number;
    readonly repetitions: number;
    readonly cold?: boolean;
    readonly output: "md" | "csv" | "json";
    readonly verbose?: boolean;
    readonly acceptance?: number;
  };

export function benchCommand(): Command {
  const number = (flags: string, description: string, least: number, value: number) =>
    new Option(flags, description).argParser(wholeNumber(least)).default(value);
  const command = new Command("bench")
    .description("Time prompts and generation as llama-bench does: pp and tg, in tokens per second.")
    .argument("[model]", MODEL_ARGUMENT)
    .option("-m, --model <file>", "the model, as an option")
    .addOption(number("-p, --prompt <n>", "tokens of the prompt; 0: no such test", 0, 128))
    .addOption(number("-n, --gen <n>", "tokens to generate; 0: no such test", 0, 16))
    .addOption(number("-r, --repetitions <n>", "how often each test is timed", 1, 3))
    .option("--cold", "take the files out of the page cache before each repetition (Linux)")
    .addOption(new Option("-o, --output <format>", "format").choices(["md", "csv", "json"]).default("md"))
    .option("--verbose", "with md: times by layer")
    .addOption(
      new Option(
        "--acceptance <p>",
        "with --draft: a guessed token holds with this probability, whatever the model says; all work is done",
      ).argParser(probability),
    );
  return addTimingsOption(addUnpackOptions(addDraftOption(addEngineOptions(command)))).action(
    async (argument: string | undefined, flags: BenchFlags) => {
      if (flags.prompt === 0 && flags.gen === 0)
        command.error("error: nothing to time: -p and -n are both 0");
      if (flags.acceptance !== undefined && !flags.draft?.length)
        command.error("error: --acceptance needs --draft");
      const path = modelOrBundled(argument, flags.model, command);
      const cache = openCache(await ensureUnpacked(path, flags));
      checkLengths(flags, cache.manifest.model.contextLength);
      await bench(path, cache, flags);
    },
  );
}

/** A context that was not trained for can be had with `run -c`; what it takes there is no measure of the model. */
function checkLengths({ prompt, gen }: BenchFlags, trained: number): void {
  const [option, tokens] = prompt > gen ? ["-p", prompt] : ["-n", gen];
  if (tokens <= trained || trained === 0) return;
  throw new SluiceError(
    "bad-input",
    `${option} ${tokens} is more than the model's context holds: ${trained} tokens`,
    { next: `Give ${trained} at most.` },
  );
}

async function bench(path: string, cache: Cache, flags: BenchFlags): Promise<void> {
  const tests: BenchmarkTest[] = [];
  if (flags.prompt > 0) tests.push({ kind: "pp", tokens: flags.prompt });
  if (flags.gen > 0) tests.push({ kind: "tg", tokens: flags.gen });
  const drafts = (await chosenDrafts(flags, flags)) ?? [];
  const longest = Math.max(flags.prompt, drafts.length > 0 ? guessedPositions(flags.gen) : flags.gen);
  const contextLength = Math.max(1, longest);
  const start = performance.now();
  const observer = currentRecorder();
  const options = engineOptions({ ...flags, ctxSize: contextLength });
  const source = openDrafts(drafts, cache, options);
  const shadow = drafts.includes("shadow");
  const engine = new Engine(cache, { ...options, shadow, reservedBytes: source.bytes, observer });
  observer?.span("load", start, performance.now());
  const running = { cache, memory: engine, contextLength };
  recordModel(running);
  const live = new LiveLine(process.stderr);
  const markdown = flags.output === "md";
  const records: BenchRecord[] = [];
  const guesses: string[] = [];
  const view = new ShadowView();
  const { vocabulary } = cache.manifest.model;
  try {
    if (shadow)
      await prepareShadow(engine, cache, {
        ...{ ram: flags.ram, onShadow: view.onShadow, signal: interruptSignal },
      }).finally(() => view.end());
    if (markdown) printLines(markdownHead());
    for (const test of tests) {
      const name = `${test.kind}${test.tokens}`;
      const result = await benchmark(engine, test, {
        vocabulary,
        ...(drafts.length > 0 && { drafter: new Drafter(source.create(engine), vocabulary) }),
        acceptance: flags.acceptance,
        repetitions: flags.repetitions,
        signal: interruptSignal,
        ...(flags.cold && { prepare: () => dropFromPageCache(pathsOf(cache)) }),
        onProgress: (repetition, tokens) => {
          const at = repetition === 0 ? "warming up" : `repetition ${repetition} of ${flags.repetitions}`;
          live.show(() => [`${name} · ${at} · token ${tokens + 1} of ${test.tokens}`, name]);
        },
      });
      live.clear();
      const record = recordOf(path, cache, engine, flags, result);
      records.push(record);
      if (markdown) printLines([markdownLine(record)]);
      guesses.push(...guessLines(result.sweeps));
      if (markdown && flags.verbose) {
        const isLast = test === tests[tests.length - 1];
        printLines(["", ...layerTable(result.sweeps), ...(isLast ? [] : [""])]);
      }
    }
    await recordCircumstances(running);
  } finally {
    live.clear();
    await engine.close();
    await source.close();
  }
  if (markdown) printLines(["", ...guesses, ...memoryLines(records[records.length - 1])]);
  else printLines(flags.output === "csv" ? csvLines(records) : [printableJson(records)]);
}

function recordOf(
  path: string,
  { manifest }: Cache,
  engine: Engine,
  flags: BenchFlags,
  result: BenchmarkResult,
): BenchRecord {
  const { n_prompt, n_gen, n_depth, ...figures } = summarize(result);
  const files = weightFiles(manifest);
  const parameters = files
    .flatMap(({ tensors }) => tensors)
    .reduce((sum, { rows, columns }) => sum + rows * columns, 0);
  return {
    build_commit: version(),
    cpu_info: cpus()[0]?.model ?? "",
    backends: "WASM",
    model_filename: path,
    model_type: `${manifest.model.architecture} ${countLabel(parameters)} ${manifest.dtype}`,
    model_size: files.reduce((sum, { bytes }) => sum + bytes, 0),
    model_n_params: parameters,
    n_batch: engine.maximumRows,
    n_threads: engine.threads,
    type_k: engine.kvType,
    type_v: engine.kvType,
    n_prompt,
    n_gen,
    n_depth,
    test_time: new Date().toISOString(),
    ...figures,
    dtype: manifest.dtype,
    ram: `${flags.ram ?? ""}`,
    cold: flags.cold ?? false,
    direct: engine.direct,
    ring_bytes: engine.ringBytes,
    resident_bytes: engine.residentBytes,
    streamed_bytes: engine.streamedBytes,
    // maxRSS is in kilobytes on every platform.
    peak_rss_bytes: process.resourceUsage().maxRSS * 1024,
    ...guessFields(flags, result.sweeps),
  };
}

function guessFields(flags: BenchFlags, sweeps: readonly Summable[]) {
  const { sweeps: count, tokens, guessed, held } = sumStages(sweeps);
  return {
    draft: (flags.draft ?? []).map((one) => (typeof one === "string" ? one : `model:${one.model}`)).join(),
    acceptance: flags.acceptance ?? ("" as const),
    draft_n: guessed,
    draft_n_accepted: held,
    tokens_per_sweep: tokens / count,
  };
}

function probability(text: string): number {
  const value = parseNumber(text);
  if (value < 0 || value > 1) throw new InvalidArgumentError("It must be a number from 0 to 1.");
  return value;
}

/** As model names have it: 3B, 360M. */
function countLabel(parameters: number): string {
  const [value, unit] = parameters < 1e9 ? [parameters / 1e6, "M"] : [parameters / 1e9, "B"];
  return `${value.toFixed(value < 10 ? 1 : 0)}${unit}`;
}

/** What llama-bench has no columns for. */
function memoryLines(record: BenchRecord | undefined): string[] {
  if (record === undefined) return [];
  const { streamed_bytes, resident_bytes, ring_bytes, peak_rss_bytes, direct } = record;
  const read = streamed_bytes === 0 ? "nothing" : formatBytes(streamed_bytes);
  return [
    `each sweep reads ${read}${direct ? " past the page cache" : ""}; in memory: ${formatBytes(resident_bytes)} of weights, a ring of ${formatBytes(ring_bytes)}; peak ${formatBytes(peak_rss_bytes)}`,
    `build: sluice ${record.build_commit}, Node.js ${process.version}`,
  ];
}

function pathsOf({ folder, manifest }: Cache): string[] {
  return weightFiles(manifest).map(({ name }) => join(folder, name));
}

function printLines(lines: readonly string[]): void {
  print(lines.map((line) => `${line}\n`).join(""));
}
