/** How fast bytes came, from disk or through the page cache, sweep by sweep, against what the disk was measured to give. */
import { formatBytes } from "../../format-bytes.ts";
import { type CondensedRecording, endOf, type SweepGroup, stagesOf } from "../condense.ts";
import { readingPlace } from "../facts.ts";
import { perSecond } from "../statistics.ts";
import { formatMs, formatShare } from "../units.ts";
import { capital } from "./layers-section.ts";
import { type Level, levelChart } from "./level.ts";
import type { Report, Section } from "./section.ts";

export function diskSection({ recordings }: Report): Section {
  const places = new Set(recordings.map(readingPlace).filter(Boolean));
  const place = [...places].join(" or ");
  return {
    id: "disk",
    title: place === "" ? "Reading" : `Reading ${place}`,
    text: `Bytes read in a second, on average over each whole sweep${recordings.some(({ machine }) => machine.disk !== undefined) ? ", against the speed that was measured for this disk. A sweep that is far below it computes, or something else was in the way; one above it is served by the system’s page cache" : "; the disk’s own speed was not measured"}. While reading keeps up, this is what the arithmetic consumes, not what reading could give.${place.includes("page cache") ? " What comes through the page cache may have been in memory already: only the system knows how much of it the disk had to bring." : ""}`,
    panel: (recording) => {
      const { sweeps, machine } = recording;
      if (sweeps.length === 0) return "No sweep was recorded.";
      if (sweeps.every((sweep) => bytesOf(sweep) === 0))
        return "Nothing was read: all weights were in memory.";
      const levels = levelsOf(recording);
      const ms = sweeps.reduce((sum, sweep) => sum + sweep.ms, 0);
      const bytes = sweeps.reduce((sum, sweep) => sum + bytesOf(sweep), 0);
      const readMs = sweeps.flatMap(stagesOf).reduce((sum, stage) => sum + stage.readMs, 0);
      const rate = perSecond(bytes, ms);
      const share =
        machine.disk === undefined
          ? ""
          : rate > machine.disk
            ? ", more than the disk was measured to give"
            : `, ${formatShare(rate / machine.disk)} of what was measured`;
      return {
        chart: levelChart({
          label: `Bytes read ${readingPlace(recording)} per second, sweep by sweep`.replace("  ", " "),
          idle: `${formatBytes(bytes)} in all, ${formatBytes(rate)}/s over whole sweeps${share}; ${formatBytes(perSecond(bytes, readMs))}/s while something was read.`,
          levels,
          limit:
            machine.disk === undefined
              ? undefined
              : { value: machine.disk, text: `disk, as measured: ${formatBytes(machine.disk)}/s` },
          reach: Math.max(...recordings.flatMap(reaches)),
          per: "/s",
        }),
        legend: [
          ...(sweeps.some(({ kind }) => kind === "prefill")
            ? [{ ink: "prefill" as const, text: "prefill" }]
            : []),
          ...(sweeps.some(({ kind }) => kind === "decode") ? [{ ink: "read" as const, text: "decode" }] : []),
        ],
        tables: [
          {
            caption: "bytes read by each sweep",
            columns: [
              { name: "sweep" },
              { name: "kind" },
              { name: "tokens", places: 0 },
              { name: "start ms", places: 1 },
              { name: "ms", places: 1 },
              { name: "MB", places: 1 },
              { name: "MB/s", places: 0 },
            ],
            rows: () =>
              sweeps.map((sweep, index) => [
                `${index + 1}${(sweep.count ?? 1) > 1 ? `, sum of ${sweep.count} sweeps` : ""}`,
                sweep.kind,
                sweep.rows,
                sweep.startMs,
                sweep.ms,
                bytesOf(sweep) / 1e6,
                perSecond(bytesOf(sweep), sweep.ms) / 1e6,
              ]),
          },
        ],
      };
    },
  };
}

function reaches(recording: CondensedRecording): number[] {
  return [...levelsOf(recording).map(({ value }) => value), recording.machine.disk ?? 0];
}

function levelsOf({ sweeps }: CondensedRecording): Level[] {
  return sweeps.map((sweep) => {
    const rate = perSecond(bytesOf(sweep), sweep.ms);
    const count = sweep.count ?? 1;
    const what = count === 1 ? `${sweep.kind} sweep` : `${count} ${sweep.kind} sweeps`;
    return {
      fromMs: sweep.startMs,
      toMs: endOf(sweep),
      value: rate,
      ink: sweep.kind === "prefill" ? "prefill" : "read",
      text: `${capital(what)} from ${formatMs(sweep.startMs)} on: ${formatBytes(bytesOf(sweep))} in ${formatMs(sweep.ms)}, ${formatBytes(rate)}/s.`,
    };
  });
}

function bytesOf(sweep: SweepGroup): number {
  return stagesOf(sweep).reduce((sum, { bytes }) => sum + bytes, 0);
}
