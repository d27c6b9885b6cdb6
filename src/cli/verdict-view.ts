/** What limits the speed, in words: after an answer. */
import { dirname } from "node:path";
import { OVERHEAD_BYTES, residentBudget } from "../engine/budget.ts";
import type { Model } from "../engine/model.ts";
import { formatBytes } from "../format-bytes.ts";
import { arithmeticSpeed, plainBytes } from "../plan/arithmetic-speed.ts";
import type { Cache } from "../store/cache.ts";
import { availableMemory } from "../stream/available-memory.ts";
import { diskSpeed, WORTH_MEASURING_BYTES } from "../stream/disk-speed.ts";
import { handoverSentence } from "../timing/handover.ts";
import { longestOfAnswer } from "../timing/longest-work.ts";
import type { GenerationTiming } from "../timing/report.ts";
import { perSecond, type Summable, sumStages, sumTimings } from "../timing/statistics.ts";
import type { Reachable } from "../timing/table.ts";
import { type Circumstances, judge } from "../timing/verdict.ts";
import { tell } from "./tell.ts";
import { currentRecorder } from "./timings-file.ts";
import { timingLines } from "./timings-view.ts";

/** Where the weights of a running model are, and how they are read. */
type Memory = ReturnType<Model["memory"]>;

/** How much faster it has to become for a word that nobody asked for. */
const WORTH_A_WORD = 1.3;

/** The times of a generation and what limited it. Disk and arithmetic of large models are measured, if they are not yet. */
export async function verdictLines(model: Model, timing: GenerationTiming): Promise<string[]> {
  const { reachable, circumstances } = await circumstancesOf(model, model.memory(), timing.decode);
  const verdict = judge(timing.decode, circumstances);
  const handover = handoverSentence(timing.prefill);
  const generation = sumStages(timing.decode);
  const longest = longestOfAnswer(sumStages(timing.prefill).ms, generation.ms + generation.guessMs);
  return [
    ...timingLines(timing, reachable),
    ...(verdict || handover ? [""] : []),
    ...(longest ? [longest] : []),
    ...(verdict ? [verdict.text] : []),
    ...(handover ? [handover] : []),
  ];
}

/** What decode sweeps are held against: of large models disk and arithmetic, which are measured, if they are not yet. */
export async function circumstancesOf(
  cache: Cache,
  memory: Memory,
  decode: readonly Summable[],
): Promise<{ readonly reachable?: Reachable; readonly circumstances: Circumstances }> {
  // Measuring is no part of the run.
  currentRecorder()?.stop();
  const reachable = await reachableBy(cache, memory, decode);
  const { disk, arithmetic } = reachable ?? {};
  return { ...(reachable && { reachable }), circumstances: { ...memoryOf(memory), disk, arithmetic } };
}

/** Say in one line, to people only, where free memory would make generation much faster. @returns whether it was said */
export function noteMemory(model: Model, decode: readonly Summable[]): boolean {
  const memory = model.memory();
  const { residentBytes, streamedBytes } = memory;
  // Whoever has given a budget has thought about it.
  const told = residentBytes > 0 || streamedBytes < WORTH_MEASURING_BYTES;
  const gain = told ? undefined : judge(decode, memoryOf(memory))?.gain;
  if (!process.stderr.isTTY || gain === undefined || gain.factor < WORTH_A_WORD) return false;
  tell(
    `sluice: --ram auto would keep ${formatBytes(gain.bytes)} of weights in free memory, and be up to ${gain.factor.toFixed(1)} times as fast`,
  );
  return true;
}

async function reachableBy(
  cache: Cache,
  { residentBytes, streamedBytes, direct, threads, kvType }: Memory,
  decode: readonly Summable[],
): Promise<Reachable | undefined> {
  const { manifest, folder } = cache;
  if (residentBytes + streamedBytes < WORTH_MEASURING_BYTES) return undefined;
  const disk = diskSpeed(dirname(folder));
  const output =
    plainBytes(manifest.output) + (manifest.model.tiedOutput ? plainBytes(manifest.embedding) : 0);
  const weights = [...manifest.layers.map(plainBytes), output];
  const computeMs = decode.map(({ layers, output }) => sumTimings([...layers, output]).computeMs);
  const seen = perSecond(residentBytes + streamedBytes, Math.min(...computeMs));
  return {
    disk: (direct ? disk?.direct : disk?.buffered) ?? undefined,
    arithmetic: await arithmeticSpeed(cache, { threads, kvType, seen }),
    weights,
  };
}

/** What `--ram auto` would have beyond what is in memory now. */
export function memoryOf({ residentBytes, streamedBytes, direct }: Memory): Circumstances {
  // All but further weights is in memory already.
  const available = availableMemory() + OVERHEAD_BYTES;
  const more = residentBudget({
    ram: "auto",
    ringBytes: 0,
    weightBytes: streamedBytes,
    kvBytes: 0,
    available,
  });
  return { residentBytes, streamedBytes, roomBytes: more, direct };
}
