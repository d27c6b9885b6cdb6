/** A recording, or two side by side, as tables for a terminal. */
import { formatBytes } from "../format-bytes.ts";
import {
  type Breakdown,
  spanBreakdown,
  stageBreakdown,
  sweepBreakdown,
  unpackBreakdown,
} from "./breakdown.ts";
import { handoverSentence } from "./handover.ts";
import { longestWork } from "./longest-work.ts";
import type { RecordedStage, Recording } from "./recording.ts";
import { perSecond, sumStages, sumTimings } from "./statistics.ts";
import { formatTable } from "./table.ts";

/** Layers that are named as the slowest. */
const SLOWEST = 5;

/** Where the time of one recording went. Lines of plain text. */
export function textReport(recording: Recording): string[] {
  const sections = breakdowns(recording)
    .filter((part) => part !== undefined)
    .map(shareTable);
  return [
    ...heading(recording),
    ...sections.flatMap((lines) => ["", ...lines]),
    ...block(stageTable(recording)),
    ...block(slowest(recording)),
    "",
    ...ending(recording),
  ];
}

/** Two recordings side by side; ratios above 1 mean that the second took longer. */
export function textComparison(a: Recording, b: Recording): string[] {
  const ofB = [...breakdowns(b), stageBreakdown(b)];
  const sections = [...breakdowns(a), stageBreakdown(a)].map((part, index) => ratioTable(part, ofB[index]));
  return [
    ...heading(a).map((line) => `A: ${line}`),
    ...heading(b).map((line) => `B: ${line}`),
    ...sections.flatMap(block),
    "",
    ...ending(a).map((line) => `A: ${line}`),
    ...ending(b).map((line) => `B: ${line}`),
  ];
}

function breakdowns(recording: Recording): (Breakdown | undefined)[] {
  return [
    spanBreakdown(recording),
    unpackBreakdown(recording),
    sweepBreakdown(recording, "prefill"),
    sweepBreakdown(recording, "decode"),
  ];
}

function block(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", ...lines];
}

function heading({ command, model, unpack, sluice, began, ms, machine }: Recording): string[] {
  const made = unpack?.model;
  const threads = model && `${model.threads} threads`;
  const { name, layers, dtype } = model ?? made ?? {};
  const what = name !== undefined && [name, `${layers} layers`, dtype, threads].filter(Boolean).join(", ");
  const where = `sluice ${sluice}, Node.js ${machine.node}, ${machine.processors} processors`;
  return [[command, what, where, `${began}, ${(ms / 1000).toFixed(2)} s`].filter(Boolean).join(" · ")];
}

function shareTable({ title, parts, ms, once }: Breakdown): string[] {
  const share = (part: number) => `${(ms > 0 ? (100 * part) / ms : 0).toFixed(1)} %`;
  return formatTable([
    [title, "ms", "share"],
    ...parts.map(([name, part]) => [name, part.toFixed(2), share(part)]),
    ["total", ms.toFixed(2)],
    ...(once ? [[once[0], once[1].toFixed(2)]] : []),
  ]);
}

function ratioTable(a: Breakdown | undefined, b: Breakdown | undefined): string[] {
  if (a === undefined && b === undefined) return [];
  const [ofA, ofB] = [new Map(a?.parts), new Map(b?.parts)];
  const known = [...ofA.keys()].filter((name) => name !== "other");
  const names = [...new Set([...known, ...ofB.keys(), ...ofA.keys()])];
  const row = (name: string, msA: number | undefined, msB: number | undefined) => [
    name,
    msA?.toFixed(2) ?? "-",
    msB?.toFixed(2) ?? "-",
    msA !== undefined && msB !== undefined && msA > 0 ? (msB / msA).toFixed(2) : "-",
  ];
  const once = (a?.once ?? b?.once)?.[0];
  const titles = new Set([a?.title, b?.title].filter((title) => title !== undefined));
  return formatTable([
    [[...titles].join(" | "), "A ms", "B ms", "B/A"],
    ...names.map((name) => row(name, ofA.get(name), ofB.get(name))),
    row("total", a?.ms, b?.ms),
    ...(once === undefined ? [] : [row(once, a?.once?.[1], b?.once?.[1])]),
  ]);
}

/** Each stage of the mean decode sweep (prefill sweep, where nothing was decoded). */
function stageTable({ sweeps }: Recording): string[] {
  const decode = sweeps.filter(({ kind }) => kind === "decode");
  const chosen = decode.length > 0 ? decode : sweeps;
  if (chosen.length === 0) return [];
  const { embedding, layers, output } = sumStages(chosen);
  const mean = (value: number | undefined) =>
    value === undefined ? "-" : (value / chosen.length).toFixed(2);
  const row = (name: string, stage: RecordedStage) => [
    name,
    (stage.bytes / chosen.length / 1e6).toFixed(3),
    mean(stage.readMs),
    mean(stage.waitMs),
    mean(stage.attentionMs),
    mean(stage.feedForwardMs),
    mean(stage.computeMs),
    stage.bytes > 0 ? (perSecond(stage.bytes, stage.readMs) / 1e6).toFixed(0) : "-",
  ];
  const bare = ({ bytes, readMs, waitMs, computeMs }: RecordedStage) => ({
    bytes,
    readMs,
    waitMs,
    computeMs,
  });
  const name = decode.length > 0 ? "decode" : "prefill";
  return [
    chosen.length === 1 ? `1 ${name} sweep` : `${name}, mean of ${chosen.length} sweeps`,
    ...formatTable([
      ["layer", "MB", "read ms", "wait ms", "attention ms", "feed-forward ms", "compute ms", "MB/s"],
      row("embedding", bare(embedding)),
      ...layers.map((layer, index) => row(`${index}`, layer)),
      row("output", bare(output)),
      row("total", sumTimings([embedding, ...layers, output])),
    ]),
  ];
}

/** The layers that hold a token up longest, against the one in the middle. */
function slowest(recording: Recording): string[] {
  const layers = stageBreakdown(recording)?.parts.slice(1, -1) ?? [];
  if (layers.length < 2) return [];
  const sorted = [...layers].sort(([, a], [, b]) => b - a);
  const [, middle] = sorted[Math.floor(sorted.length / 2)];
  const named = sorted.slice(0, SLOWEST).map(([name, ms]) => {
    const times = middle > 0 ? ` (${(ms / middle).toFixed(1)} x)` : "";
    return `${name}: ${ms.toFixed(2)} ms${times}`;
  });
  return [`slowest layers (median ${middle.toFixed(2)} ms a token): ${named.join(", ")}`];
}

function ending(recording: Recording): string[] {
  const { peakRssBytes, skipped, verdict, sweeps } = recording;
  const longest = longestWork(recording);
  const handover = handoverSentence(sweeps);
  return [
    `memory: ${formatBytes(peakRssBytes)} at most`,
    ...(skipped ? [`${skipped.sweeps} sweeps half-way through are not in the tables`] : []),
    ...(longest ? [`work: ${longest}`] : []),
    ...(verdict ? [`verdict: ${verdict.text}`] : []),
    ...(handover ? [`hand-over: ${handover}`] : []),
  ];
}
