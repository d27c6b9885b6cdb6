/** Every layer of every sweep as a field of colours: what is slow always, and what was slow once. */
import { type CondensedRecording, type SweepGroup, sweepsOf } from "../condense.ts";
import type { RecordedStage, RecordedSweep } from "../recording.ts";
import { formatMs } from "../units.ts";
import type { Box, Chart, Spot } from "./chart.ts";
import { choice, el } from "./dom.ts";
import { capital, kindChoice, kindsOf } from "./layers-section.ts";
import { tickCount, wholeTicks } from "./scale.ts";
import type { Report, Section } from "./section.ts";
import { ramp } from "./theme.ts";

type Part = "waitMs" | "computeMs" | "readMs";

const PARTS: Readonly<Record<Part, { verb: string; ink: string }>> = {
  waitMs: { verb: "waiting", ink: "wait" },
  computeMs: { verb: "computing", ink: "attention" },
  readMs: { verb: "reading", ink: "read" },
};
/** Colours reach from here to as far from the top: single outliers must not make all others alike. */
const QUANTILE = 0.01;
/** Of the longest time, the least that the colours tell apart: noise must not look like more. */
const LEAST_SPAN = 0.3;

export function heatSection({ recordings }: Report): Section {
  const kinds = kindsOf(recordings);
  let kind: RecordedSweep["kind"] = kinds[0] ?? "decode";
  // Waiting tells most, where there was any.
  let part: Part = rangeOf(recordings.map((recording) => cellsOf(recording, kind, "waitMs")))
    ? "waitMs"
    : "computeMs";
  return {
    id: "sweeps",
    title: "Sweep by sweep",
    text: "A column is a sweep, in the order in which they ran; a row is a layer, from the first at the top to the output at the bottom. The stronger the colour, the longer it took.",
    controls: (redraw) => [
      ...(kinds.length > 1
        ? [
            kindChoice(kind, (chosen) => {
              kind = chosen;
              redraw();
            }),
          ]
        : []),
      choice(
        "Time of",
        Object.entries(PARTS).map(([value, { verb }]) => ({ value, text: verb })),
        part,
        (chosen) => {
          part = chosen as Part;
          redraw();
        },
      ),
    ],
    panel: (recording) => {
      const sweeps = sweepsOf(recording.sweeps, kind);
      if (sweeps.length === 0) return `No ${kind} sweep was recorded.`;
      const { verb, ink } = PARTS[part];
      const range = rangeOf(recordings.map((other) => cellsOf(other, kind, part)));
      if (range === undefined) return `No layer spent time on ${verb} in the ${kind} sweeps.`;
      const cells = cellsOf(recording, kind, part);
      const numbers = numbersOf(sweeps);
      return {
        chart: heatChart({ cells, numbers, range, ink, verb, kind, skipped: recording.skipped?.sweeps }),
        extra: [key(ink, range)],
        tables: [
          {
            caption: `${verb} in ms, ${kind} sweeps by layers`,
            columns: [
              { name: `${kind} sweep` },
              { name: "tokens", places: 0 },
              { name: "whole sweep ms", places: 1 },
              ...cells.map((_, row) => ({ name: rowName(row, cells.length) })),
            ],
            rows: () =>
              sweeps.map(({ rows, ms, count = 1 }, column) => [
                sweepName(numbers[column], count),
                rows,
                ms / count,
                ...cells.map((row) => row[column]),
              ]),
          },
        ],
      };
    },
  };
}

/** For each layer and the output, the milliseconds of each sweep (of groups: of one sweep on average). */
function cellsOf({ sweeps }: CondensedRecording, kind: RecordedSweep["kind"], part: Part): number[][] {
  const chosen = sweepsOf(sweeps, kind);
  const rows = (chosen[0]?.layers.length ?? -1) + 1;
  const stage = ({ layers, output }: SweepGroup, row: number): RecordedStage => layers[row] ?? output;
  return Array.from({ length: rows }, (_, row) =>
    chosen.map((sweep) => stage(sweep, row)[part] / (sweep.count ?? 1)),
  );
}

interface Range {
  readonly low: number;
  readonly high: number;
}

/** What the colours reach over. The output takes longer than any layer, and has a say only where layers take no time. */
function rangeOf(recordings: readonly (readonly (readonly number[])[])[]): Range | undefined {
  const layers = recordings.flatMap((cells) => cells.slice(0, -1)).flat();
  const times = layers.some((ms) => ms > 0) ? layers : recordings.flat(2);
  const sorted = times.sort((one, other) => one - other);
  const quantile = (share: number) => sorted[Math.round((sorted.length - 1) * share)] ?? 0;
  const [low, high] = [quantile(QUANTILE), quantile(1 - QUANTILE)];
  const most = high || quantile(1);
  if (most === 0) return undefined;
  const missing = Math.max(0, LEAST_SPAN * most - (most - low));
  const from = Math.max(0, low - missing / 2);
  return { low: from, high: from + Math.max(most - low, LEAST_SPAN * most) };
}

/** The number of each sweep, or of the first of a group, from 1. */
function numbersOf(sweeps: readonly SweepGroup[]): number[] {
  let next = 1;
  return sweeps.map(({ count = 1 }) => {
    next += count;
    return next - count;
  });
}

function sweepName(first: number, count: number): string {
  return count === 1 ? `${first}` : `${first}–${first + count - 1}, mean`;
}

interface Heat {
  readonly cells: readonly (readonly number[])[];
  readonly numbers: readonly number[];
  readonly range: Range;
  readonly ink: string;
  readonly verb: string;
  readonly kind: string;
  readonly skipped?: number | undefined;
}

function heatChart({ cells, numbers, range, ink, verb, kind, skipped }: Heat): Chart {
  const rows = cells.length;
  const columns = numbers.length;
  const size = columns > 1 ? numbers[1] - numbers[0] : 1;
  const end = numbers[columns - 1] + size;
  const edge = (column: number) => (numbers[column] ?? end) - 0.5;
  const boxOf = ({ column, row }: Spot): Box => ({
    left: edge(column),
    right: edge(column + 1),
    top: row,
    bottom: row + 1,
  });
  return {
    label: `${capital(verb)} of each layer in each ${kind} sweep; up and down for layers, left and right for sweeps`,
    idle: `${columns} ${size > 1 ? `groups of up to ${size} sweeps` : columns === 1 ? "sweep" : "sweeps"} × ${rows - 1} layers and the output.${skipped ? ` ${skipped} sweeps half-way through the run were not kept, and are not counted.` : ""} Point at a cell, or use the arrow keys.`,
    height: Math.min(460, Math.max(140, rows * 7 + 54)),
    x: {
      min: edge(0),
      max: edge(columns),
      title: `${kind} sweep`,
      ticks: wholeTicks(tickCount()),
      plain: true,
    },
    y: {
      min: 0,
      max: rows,
      down: true,
      plain: true,
      size: 58,
      ticks: () =>
        wholeTicks(6)(0, rows - 2)
          .filter((row) => rows - 1 - row > rows / 12)
          .concat(rows - 1)
          .map((row) => row + 0.5),
      text: (value) => rowName(value - 0.5, rows),
    },
    zoom: columns > 60,
    rows,
    columns: () => columns,
    spotAt: (x, y) => {
      const row = Math.floor(y);
      let column = numbers.findLastIndex((_, index) => edge(index) <= x);
      column = Math.min(Math.max(column, 0), columns - 1);
      return row >= 0 && row < rows ? { column, row } : undefined;
    },
    boxOf,
    textOf: ({ column, row }) => {
      const name = row === rows - 1 ? "output" : `layer ${row}`;
      const count = (numbers[column + 1] ?? end) - numbers[column];
      return `${capital(kind)} sweep ${sweepName(numbers[column], count)}, ${name}: ${verb} ${formatMs(cells[row][column])}.`;
    },
    draw: (plot, context) => {
      const steps = ramp(ink);
      // To whole pixels: else the ground shines through between the cells.
      const x = [...numbers, end].map((_, column) => Math.round(plot.valToPos(edge(column), "x", true)));
      const y = [...cells, []].map((_, row) => Math.round(plot.valToPos(row, "y", true)));
      cells.forEach((values, row) => {
        values.forEach((value, column) => {
          const step = Math.min(1, Math.max(0, (value - range.low) / (range.high - range.low)));
          context.fillStyle = steps[Math.round(step * (steps.length - 1))];
          context.fillRect(x[column], y[row], x[column + 1] - x[column], y[row + 1] - y[row]);
        });
      });
    },
  };
}

function rowName(row: number, rows: number): string {
  return row === rows - 1 ? "output" : `${row}`;
}

function key(ink: string, { low, high }: Range): HTMLElement {
  return el(
    "p",
    { class: "key" },
    low === 0 ? "0 ms" : `≤ ${formatMs(low)}`,
    el("span", { class: `ramp ${ink}`, "aria-hidden": "true" }),
    `≥ ${formatMs(high)}`,
  );
}
