import { cpus } from "node:os";
import { join } from "node:path";
import { Command, Option } from "commander";
import { type BenchmarkResult, type BenchmarkTest, benchmark } from "../engine/benchmark.ts";
import { Engine } from "../engine/engine.ts";
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { type Cache, openCache, weightFiles } from "../store/cache.ts";
import { layerTable } from "../timing/table.ts";
import { version } from "../version.ts";
import { type BenchRecord, csvLines, markdownHead, markdownLine, summarize } from "./bench-report.ts";
import { recordCircumstances, recordModel } from "./describe-run.ts";
import { addEngineOptions, type EngineFlags, engineOptions } from "./engine-options.ts";
import { addUnpackOptions, ensureUnpacked, type UnpackFlags } from "./ensure-unpacked.ts";
import { interruptSignal } from "./interrupt.ts";
import { LiveLine } from "./live-line.ts";
import { MODEL_ARGUMENT, modelOrBundled } from "./model-argument.ts";
import { print } from "./note.ts";
import { wholeNumber } from "./options.ts";
import { dropFromPageCache } from "./page-cache.ts";
import { printableJson } from "./printable.ts";
import { addTimingsOption, currentRecorder } from "./timings-file.ts";

type BenchFlags = EngineFlags &
  UnpackFlags & {
    readonly model?: string;
    readonly prompt: number;
    readonly gen: number;
    readonly repetitions: number;
    readonly cold?: boolean;
    readonly output: "md" | "csv" | "json";
    readonly verbose?: boolean;
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
    .option("--verbose", "with md: times by layer");
  return addTimingsOption(addUnpackOptions(addEngineOptions(command))).action(
    async (argument: string | undefined, flags: BenchFlags) => {
      if (flags.prompt === 0 && flags.gen === 0)
        command.error("error: nothing to time: -p and -n are both 0");
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
  const longest = Math.max(flags.prompt, flags.gen);
  const contextLength = Math.max(1, longest);
  const start = performance.now();
  const observer = currentRecorder();
  const engine = new Engine(cache, { ...engineOptions({ ...flags, ctxSize: contextLength }), observer });
  observer?.span("load", start, performance.now());
  const running = { cache, memory: engine, contextLength };
  recordModel(running);
  const live = new LiveLine(process.stderr);
  const markdown = flags.output === "md";
  const records: BenchRecord[] = [];
  try {
    if (markdown) printLines(markdownHead());
    for (const test of tests) {
      const name = `${test.kind}${test.tokens}`;
      const result = await benchmark(engine, test, {
        vocabulary: cache.manifest.model.vocabulary,
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
      if (markdown && flags.verbose) {
        const isLast = test === tests[tests.length - 1];
        printLines(["", ...layerTable(result.sweeps), ...(isLast ? [] : [""])]);
      }
    }
    await recordCircumstances(running);
  } finally {
    live.clear();
    await engine.close();
  }
  if (markdown) printLines(["", ...memoryLines(records[records.length - 1])]);
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
  };
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
