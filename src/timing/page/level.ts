/** A quantity along the time against a limit: speed of the disk, memory. */
import type { Box, Chart } from "./chart.ts";
import { boxOnCanvas } from "./chart-plot.ts";
import { byteUnit, tickCount, ticks, tickText, timeUnit } from "./scale.ts";
import { colour, fill, type Ink } from "./theme.ts";

export interface Level {
  readonly fromMs: number;
  readonly toMs: number;
  /** Bytes, or bytes per second. */
  readonly value: number;
  readonly ink: Ink;
  readonly text: string;
}

export interface LevelChart {
  readonly label: string;
  readonly idle: string;
  readonly levels: readonly Level[];
  readonly limit?: { readonly value: number; readonly text: string } | undefined;
  /** The highest value that is to be seen. */
  readonly reach: number;
  /** `/s`, or nothing. */
  readonly per: string;
}

export function levelChart({ levels, limit, reach, per, ...said }: LevelChart): Chart {
  const min = Math.min(...levels.map(({ fromMs }) => fromMs));
  const max = Math.max(...levels.map(({ toMs }) => toMs), min + 1);
  const top = Math.max(reach, limit?.value ?? 0) * 1.12 || 1;
  const unit = byteUnit(top);
  const time = timeUnit(max);
  const boxOf = (column: number): Box => {
    const { fromMs, toMs, value } = levels[column];
    return { left: fromMs, right: toMs, top: value, bottom: 0 };
  };
  return {
    ...said,
    height: 260,
    x: {
      min,
      max,
      title: "since the beginning",
      ticks: (from, to) => ticks(timeUnit(to - from), tickCount())(from, to),
      text: tickText(time),
    },
    y: {
      min: 0,
      max: top,
      ticks: ticks(unit, 5),
      text: tickText({ ...unit, name: `${unit.name}${per}` }),
      size: 72,
    },
    zoom: true,
    rows: 1,
    columns: () => levels.length,
    spotAt: (x) => {
      const column = levels.findLastIndex(({ fromMs }) => fromMs <= x);
      return column < 0 ? undefined : { column, row: 0 };
    },
    boxOf: ({ column }) => boxOf(column),
    textOf: ({ column }) => levels[column].text,
    draw: (plot, context) => {
      const scale = devicePixelRatio;
      const inks = new Set(levels.map(({ ink }) => ink));
      for (const ink of inks) {
        // One shape of all: else neighbours that share a pixel show a seam.
        const area = new Path2D();
        const edge = new Path2D();
        levels.forEach((level, column) => {
          if (level.ink !== ink) return;
          const { left, right, top, bottom } = boxOnCanvas(plot, boxOf(column));
          const width = Math.max(scale, right - left);
          area.rect(left, top, width, bottom - top);
          edge.rect(left, top - scale, width, 2 * scale);
        });
        context.globalAlpha = 0.3;
        context.fillStyle = fill(context, ink);
        context.fill(area);
        context.globalAlpha = 1;
        context.fillStyle = colour(ink);
        context.fill(edge);
      }
      if (limit === undefined) return;
      const y = plot.valToPos(limit.value, "y", true);
      context.strokeStyle = colour("ink");
      context.lineWidth = 1.5 * scale;
      context.setLineDash([6 * scale, 4 * scale]);
      context.beginPath();
      context.moveTo(plot.bbox.left, y);
      context.lineTo(plot.bbox.left + plot.bbox.width, y);
      context.stroke();
      context.setLineDash([]);
      context.font = `${12 * scale}px system-ui, sans-serif`;
      context.fillStyle = colour("ink");
      context.textAlign = "right";
      context.textBaseline = "bottom";
      context.fillText(limit.text, plot.bbox.left + plot.bbox.width - 4 * scale, y - 4 * scale);
    },
  };
}
