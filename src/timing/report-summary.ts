/** What a report says of a recording before its charts: key figures, and model, machine and speed as a table. */
import { formatBytes } from "../format-bytes.ts";
import { unpackBreakdown } from "./breakdown.ts";
import type { CondensedRecording } from "./condense.ts";
import { readingKeepsUp, readingPlace, type Speed, speedOf } from "./facts.ts";
import { formatMs, formatShare, threeDigits } from "./units.ts";

export interface KeyFigure {
  readonly name: string;
  readonly value: string;
  readonly unit: string;
  /** The number itself. */
  readonly raw: number;
  readonly note?: string;
}

export interface SummaryRow {
  readonly name: string;
  readonly text: string;
  /** The number itself, where it is one. */
  readonly raw?: number;
}

/** What the recordings are called: nothing where there is but one, else a letter and what tells them apart. */
export function reportLabels(recordings: readonly CondensedRecording[]): string[] {
  if (recordings.length < 2) return recordings.map(() => "");
  const traits = [
    ({ model, unpack }: CondensedRecording) => (model ?? unpack?.model)?.name,
    ({ model, unpack }: CondensedRecording) => (model ?? unpack?.model)?.dtype,
    ({ model }: CondensedRecording) => model && `${formatBytes(model.residentBytes)} resident`,
    ({ model }: CondensedRecording) => model && `${model.threads} threads`,
    (recording: CondensedRecording) => recording.command,
  ];
  const telling = traits.find((trait) => new Set(recordings.map(trait)).size === recordings.length);
  return recordings.map((recording, index) => {
    const trait = telling?.(recording);
    const letter = String.fromCharCode(65 + index);
    return trait === undefined ? letter : `${letter} (${trait})`;
  });
}

export function keyFigures(recording: CondensedRecording): KeyFigure[] {
  const { machine, peakRssBytes, unpack } = recording;
  const decode = speedOf(recording, "decode");
  const prefill = speedOf(recording, "prefill");
  const figures: KeyFigure[] = [];
  if (decode !== undefined)
    figures.push({
      name: "Generation",
      value: threeDigits(decode.tokensPerSecond),
      unit: "tokens/s",
      raw: decode.tokensPerSecond,
      note: `${decode.tokens} tokens, ${formatMs((decode.ms + decode.guessMs) / decode.tokens)} each`,
    });
  if (decode !== undefined && decode.guessed > 0)
    figures.push({
      name: "Guessing ahead",
      value: threeDigits(decode.tokens / decode.sweeps),
      unit: "tokens/sweep",
      raw: decode.tokens / decode.sweeps,
      note: `${formatShare(decode.held / decode.guessed)} of ${decode.guessed} guesses held; they took ${formatMs(decode.guessMs)}`,
    });
  if (prefill !== undefined)
    figures.push({
      name: "Prompt",
      value: threeDigits(prefill.tokensPerSecond),
      unit: "tokens/s",
      raw: prefill.tokensPerSecond,
      note: `${prefill.tokens} tokens in ${formatMs(prefill.ms)}`,
    });
  const streaming = decode ?? prefill;
  if (streaming !== undefined) {
    if (recording.verdict?.bound !== "memory") figures.push(readingFigure(recording, streaming));
  } else if (unpack !== undefined && unpack.files.length > 0) {
    const { ms } = unpackBreakdown(recording)!;
    figures.push({
      name: "Unpacking",
      value: threeDigits(ms / 1000),
      unit: "s",
      raw: ms / 1000,
      note: `${unpack.files.length} files`,
    });
  }
  const [value, unit] = formatBytes(peakRssBytes).split(" ");
  return [
    ...figures,
    {
      name: "Peak memory",
      value,
      unit,
      raw: peakRssBytes,
      note: `of the machine’s ${formatBytes(machine.memoryBytes)}`,
    },
  ];
}

/** How fast reading was: while something was read where it keeps up, else in all, for then it never rests. */
function readingFigure(recording: CondensedRecording, speed: Speed): KeyFigure {
  const keepsUp = readingKeepsUp(speed);
  const raw = keepsUp ? speed.readPerSecond : speed.bytesPerSecond;
  const [value, unit] = formatBytes(raw).split(" ");
  return {
    name: readingName(recording),
    value,
    unit: `${unit}/s`,
    raw,
    note: keepsUp
      ? `while something is read; the arithmetic consumes ${formatBytes(speed.bytesPerSecond)}/s of it`
      : diskNote(raw, recording.machine.disk),
  };
}

function readingName(recording: CondensedRecording): string {
  return `Read ${readingPlace(recording)}`.trimEnd();
}

/** A rate against the disk's; beyond that it is not the disk's. */
function diskNote(rate: number, disk: number | undefined): string {
  if (disk === undefined) return "the disk’s own speed was not measured";
  if (rate > disk) return `the disk alone: ${formatBytes(disk)}/s, as measured`;
  return `${formatShare(rate / disk)} of ${formatBytes(disk)}/s that were measured`;
}

export function summaryRows(recording: CondensedRecording): SummaryRow[] {
  const { model, unpack, machine, peakRssBytes, ms } = recording;
  const made = model ? undefined : unpack?.model;
  const bytes = (name: string, raw: number | undefined, per = "") =>
    raw === undefined ? [] : [{ name, text: `${formatBytes(raw)}${per}`, raw }];
  const number = (name: string, raw: number | undefined, unit = "") =>
    raw === undefined ? [] : [{ name, text: `${threeDigits(raw)}${unit}`, raw }];
  const decode = speedOf(recording, "decode");
  const prefill = speedOf(recording, "prefill");
  return [
    ...(model
      ? [
          { name: "Model", text: model.name },
          { name: "Architecture", text: `${model.architecture}, ${model.layers} layers` },
          { name: "dtype", text: model.dtype },
          { name: "Unpacked model", text: model.cache },
          ...bytes("Weights read for a token", model.streamedBytes),
          ...bytes("Weights kept in memory", model.residentBytes),
          ...bytes("Ring", model.ringBytes),
          { name: "Reads", text: model.direct ? "past the page cache" : "through the page cache" },
          { name: "KV cache", text: `${model.kvType}, up to ${model.contextLength} tokens` },
          { name: "Compute threads", text: `${model.threads}`, raw: model.threads },
        ]
      : []),
    ...(made
      ? [
          { name: "Model", text: made.name },
          { name: "Architecture", text: `${made.architecture}, ${made.layers} layers` },
          { name: "dtype", text: made.dtype },
          { name: "Unpacked model", text: made.cache },
        ]
      : []),
    ...number("Prompt", prefill?.tokensPerSecond, " tokens/s"),
    ...number("Generation", decode?.tokensPerSecond, " tokens/s"),
    ...bytes(`${readingName(recording)}, while reading`, decode?.readPerSecond, "/s"),
    ...bytes("Bytes read, averaged over generation", decode?.bytesPerSecond, "/s"),
    ...bytes("Disk, as measured", machine.disk, "/s"),
    ...bytes("Weights through the arithmetic, as measured", machine.arithmetic, "/s"),
    ...bytes("Peak memory", peakRssBytes),
    { name: "From beginning to end", text: formatMs(ms), raw: ms },
    { name: "Processor", text: `${machine.cpu}, ${machine.processors} threads` },
    ...bytes("Memory of the machine", machine.memoryBytes),
    { name: "System", text: `${machine.platform}, Node.js ${machine.node}` },
    { name: "sluice", text: recording.sluice },
    { name: "Began", text: recording.began },
  ];
}
