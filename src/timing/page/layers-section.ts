/** Where the time of an average sweep goes, stage by stage. */
import { formatBytes } from "../../format-bytes.ts";
import { type CondensedRecording, countOf, stagesOf, sumSweeps, sweepsOf } from "../condense.ts";
import type { RecordedStage, RecordedSweep } from "../recording.ts";
import { formatMs } from "../units.ts";
import { type Bar, barChart, reachOf } from "./bars.ts";
import { choice } from "./dom.ts";
import type { LegendEntry } from "./legend.ts";
import { tickCount, wholeTicks } from "./scale.ts";
import type { Report, Section } from "./section.ts";

type Kind = RecordedSweep["kind"];

export function layersSection({ recordings }: Report): Section {
  const kinds = kindsOf(recordings);
  let kind: Kind = kinds[0] ?? "decode";
  return {
    id: "layers",
    title: "Time of each layer",
    text: "An average sweep. Above the line, what adds up to its time: waiting for bytes, then computing. Below the line, how long the layer’s reads took: they go on at the same time, beside the computing of earlier layers, so they are not to be added.",
    controls: (redraw) =>
      kinds.length < 2
        ? []
        : [
            kindChoice(kind, (chosen) => {
              kind = chosen;
              redraw();
            }),
          ],
    panel: (recording) => {
      const sweeps = sweepsOf(recording.sweeps, kind);
      if (sweeps.length === 0) return `No ${kind} sweep was recorded.`;
      const reaches = recordings
        .filter((other) => sweepsOf(other.sweeps, kind).length > 0)
        .map((other) => reachOf(barsOf(meanStages(other, kind))));
      const stages = meanStages(recording, kind);
      const { handoverMs = 0, threadStartMs = 0, ms } = sumSweeps(sweeps);
      const count = countOf(sweeps);
      const layers = stages.length - 2;
      const mean = count === 1 ? `one ${kind} sweep` : `mean of ${count} ${kind} sweeps`;
      const sum = (part: "readMs" | "waitMs" | "computeMs" | "bytes") =>
        stages.reduce((total, stage) => total + stage[part], 0);
      const split = stages.some(({ attentionMs }) => attentionMs !== undefined);
      return {
        chart: barChart({
          label: `Time of each layer, ${mean}`,
          idle: `${capital(mean)}: waiting ${formatMs(sum("waitMs"))} + computing ${formatMs(sum("computeMs"))}${handoverMs > threadStartMs ? ` + hand-over to the threads and back ${formatMs((handoverMs - threadStartMs) / count)}` : ""} = ${formatMs((ms - threadStartMs) / count)}; at the same time reading ${formatMs(sum("readMs"))} for ${formatBytes(sum("bytes"))}.${threadStartMs > 0 ? ` Besides, once: ${formatMs(threadStartMs)} for starting the threads.` : ""}`,
          bars: barsOf(stages),
          first: -1,
          xTitle: "layer (first bar: embedding, last: output)",
          xTicks: (min, max) => wholeTicks(tickCount())(Math.max(0, min), Math.min(layers - 1, max)),
          reach: {
            up: Math.max(...reaches.map(({ up }) => up)),
            down: Math.max(...reaches.map(({ down }) => down)),
          },
          textOf: (index) => stageText(nameOf(index, layers), stages[index]),
        }),
        legend: legendOf(split),
        tables: [
          {
            caption: `each layer, ${mean}`,
            columns: [
              { name: "layer" },
              { name: "MB read", places: 3 },
              { name: "read ms" },
              { name: "wait ms" },
              { name: "compute ms" },
              ...(split ? [{ name: "attention ms" }, { name: "feed-forward ms" }] : []),
              { name: "MB/s", places: 0 },
            ],
            rows: () =>
              stages.map((stage, index) => [
                nameOf(index, layers),
                stage.bytes / 1e6,
                stage.readMs,
                stage.waitMs,
                stage.computeMs,
                ...(split ? [stage.attentionMs, stage.feedForwardMs] : []),
                stage.bytes > 0 && stage.readMs > 0 ? stage.bytes / stage.readMs / 1000 : undefined,
              ]),
          },
        ],
      };
    },
  };
}

/** The kinds of sweeps that any recording has; decoding first. */
export function kindsOf(recordings: readonly CondensedRecording[]): Kind[] {
  return (["decode", "prefill"] as const).filter((kind) =>
    recordings.some(({ sweeps }) => sweeps.some((sweep) => sweep.kind === kind)),
  );
}

export function kindChoice(kind: Kind, changed: (kind: Kind) => void): HTMLElement {
  return choice(
    "Sweeps",
    [
      { value: "decode", text: "decode" },
      { value: "prefill", text: "prefill" },
    ],
    kind,
    (value) => changed(value as Kind),
  );
}

export function nameOf(index: number, layers: number): string {
  return index === 0 ? "embedding" : index > layers ? "output" : `${index - 1}`;
}

/** Embedding, layers and output of the average sweep of a kind. */
function meanStages({ sweeps }: CondensedRecording, kind: Kind): RecordedStage[] {
  const sum = sumSweeps(sweepsOf(sweeps, kind));
  const count = sum.count ?? 1;
  return stagesOf(sum).map(
    (stage) =>
      Object.fromEntries(Object.entries(stage).map(([part, value]) => [part, value / count])) as never,
  );
}

function barsOf(stages: readonly RecordedStage[]): Bar[] {
  return stages.map(({ waitMs, readMs, computeMs, attentionMs, feedForwardMs }) => ({
    up: [
      { ink: "wait", ms: waitMs },
      ...(attentionMs === undefined || feedForwardMs === undefined
        ? [{ ink: "compute" as const, ms: computeMs }]
        : [
            { ink: "attention" as const, ms: attentionMs },
            { ink: "feed-forward" as const, ms: feedForwardMs },
          ]),
    ],
    down: [{ ink: "read", ms: readMs }],
  }));
}

function legendOf(split: boolean): LegendEntry[] {
  return [
    { ink: "wait", text: "waiting" },
    ...(split
      ? [
          { ink: "attention" as const, text: "attention, and what else is computed" },
          { ink: "feed-forward" as const, text: "feed-forward" },
        ]
      : [{ ink: "compute" as const, text: "computing" }]),
    { ink: "read", text: "reading, at the same time" },
  ];
}

function stageText(
  name: string,
  { bytes, readMs, waitMs, computeMs, attentionMs, feedForwardMs }: RecordedStage,
): string {
  const title = /\d/.test(name) ? `Layer ${name}` : capital(name);
  const parts =
    attentionMs === undefined || feedForwardMs === undefined
      ? `computing ${formatMs(computeMs)}`
      : `attention ${formatMs(attentionMs)} + feed-forward ${formatMs(feedForwardMs)}`;
  const reading =
    bytes > 0
      ? `at the same time reading ${formatMs(readMs)} for ${formatBytes(bytes)}, ${formatBytes((bytes / readMs) * 1000)}/s`
      : "nothing read";
  return `${title}: waiting ${formatMs(waitMs)} + ${parts}; ${reading}.`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
