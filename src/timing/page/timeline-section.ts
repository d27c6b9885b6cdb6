/** One sweep in detail: threads as lanes, so that overlap, or the lack of it, is to be seen. */
import { formatBytes } from "../../format-bytes.ts";
import type { CondensedRecording, NumberedTimeline } from "../condense.ts";
import { joinEvents } from "../lane-events.ts";
import { type Overlap, overlapOf } from "../overlap.ts";
import type { LaneEvent } from "../recording.ts";
import { formatMs, formatShare } from "../units.ts";
import { select } from "./dom.ts";
import { lanesChart } from "./lanes.ts";
import { capital } from "./layers-section.ts";
import type { LegendEntry } from "./legend.ts";
import type { Report, Section } from "./section.ts";

const LEGEND: readonly LegendEntry[] = [
  { ink: "read", text: "reading" },
  { ink: "wait", text: "waiting for bytes" },
  { ink: "attention", text: "attention" },
  { ink: "feed-forward", text: "feed-forward" },
  { ink: "output", text: "output" },
];

export function timelineSection({ recordings }: Report): Section {
  const options = new Map(
    recordings.flatMap((recording) =>
      recording.timelines.map(
        (timeline) => [keyOf(recording, timeline), titleOf(recording, timeline)] as const,
      ),
    ),
  );
  // How it goes on in general, not how it began.
  const usual = [...options.keys()].filter((key) => key.startsWith("decode"));
  let chosen = usual[1] ?? usual[0] ?? [...options.keys()][0] ?? "";
  return {
    id: "timeline",
    title: "One sweep, thread by thread",
    text: "Numbers are layers. Where the reader’s lane is full, reading never rests; where the compute lanes are hatched, threads wait for it. Reading and computing one above the other is overlap. Drag, or press + and −, to look closer; double-click or 0 for all.",
    controls: (redraw) => [
      select(
        "Sweep",
        [...options].map(([value, text]) => ({ value, text })),
        chosen,
        (value) => {
          chosen = value;
          redraw();
        },
      ),
    ],
    panel: (recording) => {
      const timeline = recording.timelines.find((one) => keyOf(recording, one) === chosen);
      if (timeline === undefined) return "This sweep’s course was not recorded.";
      const { lanes, startMs, ms } = timeline;
      const title = titleOf(recording, timeline);
      const events = lanes.flatMap((lane) => lane.events);
      const begin = Math.min(0, ...events.map((event) => event.startMs - startMs));
      // Two recordings on one scale.
      const end = Math.max(...recordings.flatMap((other) => lengthOf(other, chosen)), ms);
      const layers = recording.model?.layers ?? Number.POSITIVE_INFINITY;
      const { readMs, computeMs, bothMs } = overlapOf(timeline);
      return {
        chart: lanesChart({
          label: `${title}: what each thread did; up and down for threads, left and right for what came when`,
          idle:
            readMs === 0
              ? `${capital(title)}, ${formatMs(ms)}: nothing was read; ${formatMs(computeMs)} of computing.`
              : `${capital(title)}, ${formatMs(ms)}: reading ${formatMs(readMs)}, computing ${formatMs(computeMs)}, both at once ${formatMs(bothMs)}: ${hiddenText({ readMs, computeMs, bothMs })}.`,
          rows: lanes.map(({ thread, events }) => ({
            name: thread,
            blocks: joinEvents(events).map((event) => ({
              ink: event.kind,
              startMs: event.startMs - startMs,
              ms: event.ms,
              text: `${capital(thread)}: ${eventText(event, layers)} from ${formatMs(event.startMs - startMs)} on, for ${formatMs(event.ms)}.`,
              sign: event.kind === "wait" ? undefined : stageName(event.stage, layers),
            })),
          })) as Parameters<typeof lanesChart>[0]["rows"],
          fromMs: begin,
          toMs: end,
          xTitle: "since the sweep began",
          laneHeight: 44,
        }),
        legend: LEGEND.filter(({ ink }) => events.some(({ kind }) => kind === ink)),
        tables: [
          {
            caption: `what each thread did, ${title}`,
            columns: [
              { name: "thread" },
              { name: "what" },
              { name: "layer" },
              { name: "start ms" },
              { name: "ms" },
              { name: "MB", places: 3 },
            ],
            rows: () =>
              lanes.flatMap(({ thread, events }) =>
                events.map((event) => [
                  thread,
                  event.kind,
                  stageName(event.stage, layers),
                  event.startMs - startMs,
                  event.ms,
                  event.bytes === undefined ? undefined : event.bytes / 1e6,
                ]),
              ),
          },
        ],
      };
    },
  };
}

/** How much of what takes less time costs none, for it goes on beside what takes longer. */
function hiddenText({ readMs, computeMs, bothMs }: Overlap): string {
  return readMs <= computeMs
    ? `${formatShare(bothMs / readMs)} of the reading is hidden behind computing`
    : `${formatShare(computeMs > 0 ? bothMs / computeMs : 0)} of the computing is hidden behind reading`;
}

/** From the beginning of a sweep to the end of all that was recorded of it. */
function lengthOf(recording: CondensedRecording, key: string): number[] {
  return recording.timelines
    .filter((timeline) => keyOf(recording, timeline) === key)
    .flatMap(({ lanes, startMs, ms }) => [
      ms,
      ...lanes.flatMap(({ events }) => events.map((event) => event.startMs + event.ms - startMs)),
    ]);
}

/** The same for the same sweep of two recordings; the last ones belong together too. */
function keyOf(recording: CondensedRecording, timeline: NumberedTimeline): string {
  return `${timeline.kind} ${isLast(recording, timeline) ? "last" : timeline.number}`;
}

function titleOf(recording: CondensedRecording, timeline: NumberedTimeline): string {
  return isLast(recording, timeline)
    ? `last ${timeline.kind} sweep`
    : `${timeline.kind} sweep ${timeline.number}`;
}

function isLast({ timelines }: CondensedRecording, timeline: NumberedTimeline): boolean {
  return timeline.kind === "decode" && timeline.number > 1 && timeline === timelines.at(-1);
}

function eventText({ kind, stage, bytes }: LaneEvent, layers: number): string {
  const place = stage >= layers ? "the output" : `layer ${stage}`;
  switch (kind) {
    case "read":
      return `reads ${bytes === undefined ? "" : `${formatBytes(bytes)} of `}${place}`;
    case "wait":
      return `waits for ${place}`;
    case "output":
      return `computes ${place}`;
    default:
      return `computes ${kind} of ${place}`;
  }
}

function stageName(stage: number, layers: number): string {
  return stage >= layers ? "output" : `${stage}`;
}
