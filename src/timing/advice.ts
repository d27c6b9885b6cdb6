/** What limited a run, in a sentence, and what would make it faster, by how much: from what was recorded. */
import { formatBytes } from "../format-bytes.ts";
import type { CondensedRecording } from "./condense.ts";
import { type Speed, speedOf } from "./facts.ts";
import { formatMs, formatShare } from "./units.ts";

export interface Advice {
  /** What to do. */
  readonly what: string;
  /** What it would bring. */
  readonly effect: string;
}

/** Gains below this are not worth a word. */
const LEAST_FACTOR = 1.05;
/** Bytes of a weight, docs/cache-format.md; `native` may be any. */
const WEIGHT_BYTES: Readonly<Record<string, number>> = { f32: 4, f16: 2, q8: 34 / 32 };

/** The verdict as a sentence for people. */
export function verdictSentence(recording: CondensedRecording): string {
  const decode = speedOf(recording, "decode");
  const { verdict, machine } = recording;
  if (decode === undefined) return withoutDecode(recording);
  const token = formatMs(decode.ms / decode.sweeps);
  const waiting = `${formatMs(decode.waitMs / decode.sweeps)} (${formatShare(decode.waitMs / decode.ms)})`;
  const rate = `${formatBytes(decode.bytesPerSecond)}/s`;
  if (verdict === undefined) return `A token takes ${token}, and ${waiting} of that is waiting for bytes.`;
  const limit =
    machine.disk === undefined
      ? ""
      : `, ${formatShare(decode.bytesPerSecond / machine.disk)} of the ${formatBytes(machine.disk)}/s measured for it`;
  switch (verdict.bound) {
    case "disk":
      return `Bound by the disk. A token takes ${token}, and ${waiting} of that is waiting for bytes. The disk gives ${rate}${limit}.`;
    case "page cache":
      return `Bound by the system’s page cache. A token takes ${token}, and ${waiting} of that is waiting for bytes, though they come out of memory at ${rate}, faster than the disk can read.`;
    case "compute":
      return `Bound by the arithmetic. A token takes ${token}, and only ${waiting} of that is waiting for bytes: at ${rate} the disk keeps up.`;
    case "memory":
      return `All weights are in memory. A token takes ${token}, and ${formatMs(decode.computeMs / decode.sweeps)} of that is arithmetic; nothing is read from disk but the token’s embedding.`;
  }
}

function withoutDecode(recording: CondensedRecording): string {
  const prefill = speedOf(recording, "prefill");
  if (prefill !== undefined)
    return `Only a prompt was computed: ${prefill.tokens} tokens in ${formatMs(prefill.ms)}, ${formatShare(prefill.waitMs / prefill.ms)} of it waiting for bytes. What limits generation shows when tokens are generated.`;
  const files = recording.unpack?.files ?? [];
  if (files.length === 0) return "No sweep and no unpacking was recorded: there is nothing to judge.";
  const stages = [
    { name: "reading", ms: sum(files.map((file) => file.readMs)) },
    { name: "dequantizing", ms: sum(files.map((file) => file.dequantizeMs)) },
    { name: "encoding", ms: sum(files.map((file) => file.encodeMs)) },
    { name: "writing", ms: sum(files.map((file) => file.writeMs)) },
  ].sort((one, other) => other.ms - one.ms);
  const bytes = sum(files.map((file) => file.stored));
  return `Only unpacking was recorded: ${files.length} files, ${formatBytes(bytes)}. Most of its work was ${stages[0].name} (${formatMs(stages[0].ms)}), then ${stages[1].name} (${formatMs(stages[1].ms)}).`;
}

/** What would help, the nearest at hand first. Empty where nothing was generated. */
export function advise(recording: CondensedRecording): Advice[] {
  const decode = speedOf(recording, "decode");
  const { verdict } = recording;
  if (decode === undefined || verdict === undefined || decode.ms === 0) return [];
  if (verdict.bound === "compute" || verdict.bound === "memory")
    return [...dtypeAdvice(recording, decode), ...computeAdvice(recording)];
  return [
    memoryAdvice(recording),
    ...dtypeAdvice(recording, decode),
    ...(verdict.bound === "disk" ? [diskAdvice(decode)] : []),
  ];
}

function memoryAdvice({ verdict }: CondensedRecording): Advice {
  const gain = verdict?.gain;
  return {
    what: "More memory for weights (--ram)",
    effect:
      gain === undefined
        ? "what is free on this machine would bring less than 5 %."
        : `${formatBytes(gain.bytes)} more would save ${formatMs(gain.savedSeconds * 1000)} a token: ${times(gain.factor)}.`,
  };
}

/** Fewer bytes for the same weights: less to read, and no more to compute. */
function dtypeAdvice({ model, verdict }: CondensedRecording, decode: Speed): Advice[] {
  const now = WEIGHT_BYTES[model?.dtype ?? ""];
  if (model === undefined || now === undefined) return [];
  const streaming = verdict?.bound === "disk" || verdict?.bound === "page cache";
  const seconds = decode.ms / 1000 / decode.sweeps;
  const computing = decode.computeMs / 1000 / decode.sweeps;
  return Object.entries(WEIGHT_BYTES)
    .filter(([, bytes]) => bytes < now)
    .map(([dtype, bytes]) => {
      const ratio = bytes / now;
      const what = `Unpack as ${dtype} (--dtype ${dtype})`;
      const all = (model.streamedBytes + model.residentBytes) * ratio;
      if (!streaming)
        return {
          what,
          effect: `${formatShare(ratio)} of the bytes for the arithmetic to go through: up to ${times(1 / ratio)}.`,
        };
      const streamed = Math.max(0, all - model.residentBytes);
      const factor = seconds / Math.max((seconds * streamed) / model.streamedBytes, computing * ratio);
      return {
        what,
        effect: `${formatBytes(streamed)} to read for a token in place of ${formatBytes(model.streamedBytes)}: about ${times(factor)}.`,
      };
    })
    .reverse();
}

/** With a disk twice as fast; and where the arithmetic is all that is left. */
function diskAdvice(decode: Speed): Advice {
  const most = decode.ms / decode.computeMs;
  const twice = Math.min(2, most);
  const what = "A faster disk";
  if (most < LEAST_FACTOR)
    return { what, effect: "would bring less than 5 %: the arithmetic takes as long." };
  return {
    what,
    effect: `one of twice the speed would make it ${times(twice)}; beyond ${times(most)} the arithmetic is what is left.`,
  };
}

function computeAdvice({ model, machine, verdict }: CondensedRecording): Advice[] {
  const threads = model?.threads ?? machine.processors;
  const more: Advice[] =
    threads < machine.processors
      ? [
          {
            what: `More threads (-t ${machine.processors})`,
            effect: `this machine has ${machine.processors} processors, and ${threads} computed: up to ${times(machine.processors / threads)}.`,
          },
        ]
      : [];
  const disk =
    verdict?.bound === "compute"
      ? [{ what: "A faster disk or more --ram", effect: "would change nothing." }]
      : [];
  return [...more, ...disk];
}

function times(factor: number): string {
  return `${factor.toFixed(1)} times as fast`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
