/** What limited a run, in a sentence, and what would make it faster, by how much: from what was recorded. */
import { formatBytes } from "../format-bytes.ts";
import { unpackBreakdown } from "./breakdown.ts";
import type { CondensedRecording } from "./condense.ts";
import { readingPlace, type Speed, speedOf } from "./facts.ts";
import { formatMs, formatShare } from "./units.ts";

export interface Advice {
  /** What to do. */
  readonly what: string;
  /** What it would bring. */
  readonly effect: string;
  /** Nothing worth the trouble. */
  readonly vain?: true;
}

/** The first Node.js whose engine has dot products of bytes. */
const FAST_NODE = 24;
/** Gains below this are not worth a word. */
const LEAST_FACTOR = 1.05;
/** Bytes of a weight, docs/cache-format.md; `native` may be any. */
const WEIGHT_BYTES: Readonly<Record<string, number>> = { f32: 4, f16: 2, q8: 34 / 32 };

/** The stages of an unpack in a sentence. */
const UNPACKING: Readonly<Record<string, string>> = {
  prepare: "preparing",
  read: "reading",
  dequantize: "dequantizing",
  encode: "encoding",
  write: "writing",
  finish: "finishing",
};

/** The verdict as a sentence for people. */
export function verdictSentence(recording: CondensedRecording): string {
  const decode = speedOf(recording, "decode");
  const { verdict, machine } = recording;
  if (decode === undefined) return withoutDecode(recording);
  const token = formatMs((decode.ms + decode.guessMs) / decode.tokens);
  const waiting = `${formatMs(decode.waitMs / decode.tokens)} (${formatShare(decode.waitMs / decode.ms)})`;
  const rate = `${formatBytes(decode.bytesPerSecond)}/s`;
  const place = readingPlace(recording);
  if (verdict === undefined) return `A token takes ${token}, and ${waiting} of that is waiting for bytes.`;
  const limit =
    machine.disk === undefined
      ? ""
      : `, ${formatShare(decode.bytesPerSecond / machine.disk)} of the ${formatBytes(machine.disk)}/s measured for it`;
  switch (verdict.bound) {
    case "disk":
      return `The disk sets the speed of generation. A token takes ${token}, and ${waiting} of that is waiting for bytes. The disk gives ${rate}${limit}.`;
    case "page cache":
      return `Reading sets the speed of generation, through the system’s page cache. A token takes ${token}, and ${waiting} of that is waiting for bytes. They come at ${rate}, ${machine.disk === undefined ? "out of memory or from disk: only the system knows" : "faster than the disk can read: many of them were in memory already, in the page cache"}.`;
    case "compute":
      return `The arithmetic sets the speed of generation. A token takes ${token}, and only ${waiting} of that is waiting for bytes: reading, at ${formatBytes(decode.readPerSecond)}/s${place && ` ${place}`}, keeps up with the ${rate} that the arithmetic consumes.`;
    case "memory":
      return `The arithmetic sets the speed of generation, for all weights are in memory. A token takes ${token}, and ${formatMs(decode.computeMs / decode.tokens)} of that is arithmetic; nothing is read but the token’s embedding.`;
  }
}

function withoutDecode(recording: CondensedRecording): string {
  const prefill = speedOf(recording, "prefill");
  if (prefill !== undefined)
    return `Only a prompt was computed: ${prefill.tokens} tokens in ${formatMs(prefill.ms)}, ${formatShare(prefill.waitMs / prefill.ms)} of it waiting for bytes. What limits generation shows when tokens are generated.`;
  const files = recording.unpack?.files ?? [];
  if (files.length === 0) return "No sweep and no unpacking was recorded: there is nothing to judge.";
  const { parts, ms } = unpackBreakdown(recording)!;
  const [[most, mostMs], [next, nextMs]] = [...parts].sort(([, one], [, other]) => other - one);
  const bytes = sum(files.map((file) => file.stored));
  return `Only unpacking was recorded: ${files.length} files, ${formatBytes(bytes)}, in ${formatMs(ms)}. Most of its work was ${UNPACKING[most]} (${formatMs(mostMs)}), then ${UNPACKING[next]} (${formatMs(nextMs)}).`;
}

/** What would help, the nearest at hand first. Empty where nothing was generated. */
export function advise(recording: CondensedRecording): Advice[] {
  const decode = speedOf(recording, "decode");
  const { verdict } = recording;
  if (decode === undefined || verdict === undefined || decode.ms === 0) return [];
  if (verdict.bound === "compute" || verdict.bound === "memory")
    return [...measureAdvice(recording), ...computeAdvice(recording, decode)];
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
    ...(gain === undefined && { vain: true }),
    effect:
      gain === undefined
        ? "what is free on this machine would bring less than 5 %."
        : `${formatBytes(gain.bytes)} more would save ${formatMs(gain.savedSeconds * 1000)} a token: ${times(gain.factor)}.`,
  };
}

/** Milliseconds of a sweep that are no waiting: reading less, or faster, leaves them as they are. */
function busyMs({ ms, waitMs, sweeps }: Speed): number {
  return (ms - waitMs) / sweeps;
}

/**
 * Fewer bytes for the same weights: less to wait for. What the arithmetic takes in another dtype no recording knows, so
 * it is taken to stay as it is.
 */
function dtypeAdvice({ model }: CondensedRecording, decode: Speed): Advice[] {
  const now = WEIGHT_BYTES[model?.dtype ?? ""];
  if (model === undefined || now === undefined) return [];
  const { streamedBytes, residentBytes } = model;
  const ms = decode.ms / decode.sweeps;
  return Object.entries(WEIGHT_BYTES)
    .filter(([, bytes]) => bytes < now)
    .map(([dtype, bytes]) => {
      const streamed = Math.max(0, ((streamedBytes + residentBytes) * bytes) / now - residentBytes);
      const left = Math.max(busyMs(decode), (ms * streamed) / streamedBytes);
      return { dtype, streamed, factor: ms / left, saved: ms - left };
    })
    .filter(({ factor }) => factor >= LEAST_FACTOR)
    .map(({ dtype, streamed, factor, saved }) => ({
      what: `Unpack as ${dtype} (--dtype ${dtype})`,
      effect: `${formatBytes(streamed)} to read for a token in place of ${formatBytes(streamedBytes)} would save ${formatMs(saved)} of waiting: ${times(factor)}.`,
    }))
    .reverse();
}

/** Where nobody waits for bytes, only a measurement tells whether fewer of them are computed faster. Small models need none. */
function measureAdvice({ model, machine }: CondensedRecording): Advice[] {
  const smaller = (WEIGHT_BYTES[model?.dtype ?? ""] ?? 0) > WEIGHT_BYTES["q8"];
  if (!smaller || machine.arithmetic === undefined) return [];
  return [
    {
      what: "Another dtype (--dtype q8 or f16)",
      effect: "the arithmetic may be faster with it: this recording cannot tell, sluice plan measures it.",
    },
  ];
}

/** With a disk twice as fast; and where the waiting is over. */
function diskAdvice(decode: Speed): Advice {
  const most = decode.ms / decode.sweeps / busyMs(decode);
  const twice = Math.min(2, most);
  const what = "A faster disk";
  if (most < LEAST_FACTOR)
    return { what, effect: "would bring less than 5 %: the arithmetic takes as long.", vain: true };
  return {
    what,
    effect: `one of twice the speed would make it ${times(twice)}; at ${times(most)} there is no more waiting to save.`,
  };
}

function computeAdvice({ model, machine, verdict }: CondensedRecording, decode: Speed): Advice[] {
  const threads = model?.threads ?? machine.processors;
  const most = decode.ms / (decode.ms - decode.computeMs * (1 - threads / machine.processors));
  const more: Advice[] =
    threads < machine.processors && most >= LEAST_FACTOR
      ? [
          {
            what: `More threads (-t ${machine.processors})`,
            effect: `this machine has ${machine.processors} processors, and ${threads} computed: at best ${times(most)}.`,
          },
        ]
      : [];
  const disk =
    verdict?.bound === "compute"
      ? [{ what: "A faster disk or more --ram", effect: "would change nothing.", vain: true as const }]
      : [];
  return [...more, ...nodeAdvice(model, machine), ...disk];
}

/** Older engines have no exact dot product of bytes. */
function nodeAdvice(model: CondensedRecording["model"], { node }: CondensedRecording["machine"]): Advice[] {
  const major = Number(/^v(\d+)/.exec(node)?.[1]);
  if (model === undefined || !(major < FAST_NODE) || !["q8", "native"].includes(model.dtype)) return [];
  return [
    {
      what: `Node.js ${FAST_NODE} (this was ${node})`,
      effect:
        "on processors with dot products of bytes (VNNI) it computes prompts with quantized weights faster: 1.5 times as fast where that was measured.",
    },
  ];
}

function times(factor: number): string {
  return `${factor.toFixed(1)} times as fast`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
