/** Lanes with what happened on each, along the time. */
import type { Box, Chart, Spot } from "./chart.ts";
import { boxOnCanvas } from "./chart-plot.ts";
import { tickCount, ticks, tickText, timeUnit } from "./scale.ts";
import { colour, fill, type Ink } from "./theme.ts";

export interface LaneBlock {
  readonly ink: Ink;
  readonly startMs: number;
  readonly ms: number;
  readonly text: string;
  /** What stands in it where there is room. */
  readonly sign?: string;
}

export interface LaneRow {
  readonly name: string;
  readonly blocks: readonly LaneBlock[];
}

export interface LanesChart {
  readonly label: string;
  readonly idle: string;
  readonly rows: readonly LaneRow[];
  readonly fromMs: number;
  readonly toMs: number;
  readonly xTitle: string;
  readonly laneHeight: number;
}

const MARGIN = 0.14;

export function lanesChart({ rows, fromMs, toMs, xTitle, laneHeight, ...said }: LanesChart): Chart {
  const unit = timeUnit(toMs - fromMs);
  const blockOf = ({ column, row }: Spot): LaneBlock | undefined => rows[row].blocks[column];
  const boxOf = (spot: Spot): Box => {
    // A thread may have had nothing to do.
    const { startMs, ms } = blockOf(spot) ?? { startMs: fromMs, ms: 0 };
    return { left: startMs, right: startMs + ms, top: spot.row + MARGIN, bottom: spot.row + 1 - MARGIN };
  };
  return {
    ...said,
    height: rows.length * laneHeight + 54,
    x: {
      min: fromMs,
      max: toMs,
      title: xTitle,
      ticks: (min, max) => ticks(timeUnit(max - min), tickCount())(min, max),
      text: signedText(unit.size),
    },
    y: {
      min: 0,
      max: rows.length,
      down: true,
      plain: true,
      size: 82,
      ticks: () => rows.map((_, row) => row + 0.5),
      text: (value) => rows[Math.floor(value)]?.name ?? "",
    },
    zoom: true,
    rows: rows.length,
    columns: (row) => rows[row].blocks.length,
    spotAt: (x, y) => {
      const row = Math.floor(y);
      const column =
        rows[row]?.blocks.findIndex(({ startMs, ms }) => startMs <= x && x <= startMs + ms) ?? -1;
      return column < 0 ? undefined : { column, row };
    },
    boxOf,
    textOf: (spot) => blockOf(spot)?.text ?? `${rows[spot.row].name}: nothing.`,
    draw: (plot, context) => {
      const fills = new Map<Ink, string | CanvasPattern>();
      context.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      rows.forEach(({ blocks }, row) => {
        blocks.forEach(({ ink, sign }, column) => {
          const { left, right, top, bottom } = boxOnCanvas(plot, boxOf({ column, row }));
          if (right < plot.bbox.left || left > plot.bbox.left + plot.bbox.width) return;
          if (!fills.has(ink)) fills.set(ink, fill(context, ink));
          context.fillStyle = fills.get(ink)!;
          // A gap between neighbours, where there is room for one. A short span must be seen; of many short pieces of a
          // sweep none must look longer than it was.
          const least = ink === "span" ? devicePixelRatio : 0;
          const gap = right - left > 4 * devicePixelRatio ? devicePixelRatio : 0;
          context.fillRect(left, top, Math.max(least, right - left - gap), bottom - top);
          if (sign === undefined || right - left < (9 + 7 * sign.length) * devicePixelRatio) return;
          context.fillStyle = colour(`on-${ink}`);
          context.fillText(sign, (left + right - gap) / 2, (top + bottom) / 2);
        });
      });
    },
  };
}

function signedText(size: number): (value: number) => string {
  const text = tickText({ name: size === 1000 ? "s" : "ms", size });
  return (value) => (value < 0 ? `−${text(value)}` : text(value));
}
