import { formatBytes } from "../format-bytes.ts";
import { KV_TYPES } from "../kernels/kv-layout.ts";
import type { DtypePlan, KvPlan, Plan } from "../plan/plan.ts";
import { FORETOLD_ACCEPTANCE, isForetellable, PROMPT_ROWS } from "../plan/plan.ts";
import { WORTH_MEASURING_BYTES } from "../stream/disk-speed.ts";
import { formatTable } from "../timing/table.ts";
import { printableLine } from "./printable.ts";

const BUDGETS = { stream: "stream", "25%": "25 %", "50%": "50 %", "75%": "75 %", auto: "auto", all: "all" };

/** A plan for people, in plain text. */
export function planLines(plan: Plan): string[] {
  const { model, parameters, root, threads, diskFree, memoryFree, disk, contextLength } = plan;
  const { workingBytes, kvBytesPerToken, dtypes } = plan;
  const recommended = dtypes.find(({ dtype }) => dtype === plan.recommended)!;
  const kv = KV_TYPES.map(
    (type) =>
      `${type} ${formatBytes(kvBytesPerToken[type])} a token, ${formatBytes(kvBytesPerToken[type] * contextLength)} for ${contextLength} tokens`,
  );
  const head = `${printableLine(model.name)}: ${printableLine(model.architecture)}, ${model.layers.length} layers, ${countText(parameters)} weights`;
  const needs = [
    `${recommended.dtype} is recommended: the fewest bytes that keep every weight of the file as it is.`,
    `Disk: ${formatBytes(diskFree)} free in ${root}; ${diskText(plan)}`,
    `Memory: ring ${formatBytes(recommended.ringBytes)} with ${recommended.dtype}, activations up to ${formatBytes(workingBytes)}, and what --ram keeps`,
    `KV cache: ${kv.join("; ")}`,
    ...kvSplitText(plan, recommended),
  ];
  const unmeasured =
    disk === undefined ? ["The disk could not be measured: nothing can be written there."] : [];
  if (!isForetellable(plan))
    return [head, "", ...sizeTable(plan), "", ...TOO_SMALL, "", ...needs, ...unmeasured];
  return [
    head,
    "",
    ...formatTable([
      ["seconds a token", "on disk", ...Object.values(BUDGETS), `pp${PROMPT_ROWS} t/s`, "weights"],
      ...dtypes.map((dtype) => [
        dtype.dtype === plan.recommended ? `${dtype.dtype} (recommended)` : dtype.dtype,
        formatBytes(dtype.bytes),
        ...dtype.forecasts.map(({ secondsPerToken }) => secondsText(secondsPerToken)),
        dtype.promptPerSecond === null ? "-" : digits(dtype.promptPerSecond),
        dtype.exact ? "exact" : "rounded",
      ]),
    ]),
    "",
    "stream: all weights are read for each token; 25 % … 75 %: so much of them stays in memory (--ram);",
    `auto: what --ram auto takes of ${formatBytes(memoryFree)} that are free; all: everything in memory.`,
    ...cachedNote(plan, recommended),
    ...guessingNote(recommended),
    "",
    ...needs,
    `Arithmetic with ${threads} ${threads === 1 ? "thread" : "threads"}: ${dtypes.map(arithmeticText).join(", ")} of weights;`,
    `  at the end of ${contextLength} tokens a token takes ${secondsText(recommended.attentionSeconds)} longer`,
    ...unmeasured,
  ];
}

/** What `--draft` brings where the weights stream. */
function guessingNote({ dtype, forecasts: [streaming] }: DtypePlan): string[] {
  const { secondsPerToken, secondsGuessing } = streaming;
  if (secondsPerToken === null || secondsGuessing === null) return [];
  return [
    `Guessing ahead (--draft lookup) with ${dtype}, streaming: ${secondsText(secondsGuessing)} instead of ${secondsText(secondsPerToken)} where ${FORETOLD_ACCEPTANCE} of its guesses hold.`,
  ];
}

function kvSplitText({ model, contextLength }: Plan, { dtype, kvType, kvSplit }: DtypePlan): string[] {
  if (kvSplit === undefined) return [];
  const what = `with ${dtype}, ${kvType}`;
  if (kvSplit === null)
    return [`  --kv-ram is less than one layer's keys and values of ${contextLength} tokens (${what})`];
  const { residentLayers, memoryBytes, streamedBytes } = kvSplit;
  return [
    `  --kv-ram (${what}): ${formatBytes(memoryBytes)} in memory for ${contextLength} tokens, those of ${residentLayers} of ${model.layers.length} layers stay; at the end ${formatBytes(streamedBytes)} are read for each token`,
  ];
}

const TOO_SMALL = [
  "A token takes milliseconds in each of them, too few to foretell which is faster; sluice bench times it.",
  "The system keeps so small a model in memory, so --ram has nothing to gain.",
];

function sizeTable({ dtypes, recommended }: Plan): string[] {
  return formatTable([
    ["", "on disk", "weights"],
    ...dtypes.map(({ dtype, bytes, exact }) => [
      dtype === recommended ? `${dtype} (recommended)` : dtype,
      formatBytes(bytes),
      exact ? "exact" : "rounded",
    ]),
  ]);
}

/** What `plan --json` prints. */
export function planJson(plan: Plan): object {
  const { model, disk, kvBytesPerToken, contextLength, dtypes } = plan;
  return {
    model: { name: model.name, architecture: model.architecture, layers: model.layers.length },
    parameters: plan.parameters,
    root: plan.root,
    threads: plan.threads,
    disk_free_bytes: plan.diskFree,
    memory_free_bytes: plan.memoryFree,
    disk: disk
      ? {
          direct_bytes_per_second: disk.direct,
          buffered_bytes_per_second: disk.buffered,
          cached_bytes_per_second: disk.cached,
        }
      : null,
    context: contextLength,
    kv: Object.entries(kvBytesPerToken).map(([type, bytes]) => ({
      type,
      bytes_per_token: bytes,
      context_bytes: bytes * contextLength,
    })),
    working_bytes: plan.workingBytes,
    recommended: plan.recommended,
    foretellable: isForetellable(plan),
    dtypes: dtypes.map((dtype) => ({
      dtype: dtype.dtype,
      bytes: dtype.bytes,
      sweep_bytes: dtype.sweepBytes,
      exact: dtype.exact,
      ring_bytes: dtype.ringBytes,
      kv_type: dtype.kvType,
      budgets: dtype.forecasts.map(({ budget, ramBytes, secondsPerToken, secondsGuessing }) => ({
        budget,
        ram_bytes: ramBytes,
        seconds_per_token: secondsPerToken,
        seconds_guessing: secondsGuessing,
      })),
      guesses_hold: FORETOLD_ACCEPTANCE,
      prompt_per_second: dtype.promptPerSecond,
      attention_seconds: dtype.attentionSeconds,
      ...(dtype.kvSplit !== undefined && { kv_ram: kvSplitJson(dtype.kvSplit) }),
    })),
  };
}

function kvSplitJson(split: KvPlan | null): object | null {
  return (
    split && {
      resident_layers: split.residentLayers,
      memory_bytes: split.memoryBytes,
      streamed_bytes: split.streamedBytes,
    }
  );
}

/** Seconds with as many digits as mean something; "-" where they are not known. */
export function secondsText(seconds: number | null): string {
  return seconds === null ? "-" : seconds < 0.0995 ? `${digits(seconds * 1000)} ms` : `${digits(seconds)} s`;
}

/** Three digits, but whole numbers from 100 on. */
function digits(value: number): string {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/** A number of weights. */
export function countText(count: number): string {
  return count >= 1e9 ? `${(count / 1e9).toFixed(2)} billion` : `${(count / 1e6).toFixed(2)} million`;
}

function diskText({ disk }: Plan): string {
  if (disk === undefined) return "its speed is not known";
  const direct = disk.direct === null ? "" : `${formatBytes(disk.direct)}/s past the page cache, `;
  return `it reads ${direct}${formatBytes(disk.buffered)}/s through it`;
}

function arithmeticText({ dtype, sweepBytes, forecasts }: DtypePlan): string {
  const all = forecasts[forecasts.length - 1].secondsPerToken!;
  return `${dtype} ${formatBytes(sweepBytes / all)}/s`;
}

/** What streams may come from memory all the same. */
function cachedNote({ memoryFree }: Plan, { sweepBytes, dtype }: DtypePlan): string[] {
  if (sweepBytes < WORTH_MEASURING_BYTES || sweepBytes > memoryFree) return [];
  return [
    `${dtype} fits into free memory: the page cache then serves most of what is streamed, faster than the disk.`,
  ];
}
