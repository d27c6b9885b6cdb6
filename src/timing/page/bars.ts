/** Stacked bars, up and, for what goes on at the same time, down. */
import type { Chart } from "./chart.ts";
import { boxOnCanvas } from "./chart-plot.ts";
import { ticks, tickText, timeUnit } from "./scale.ts";
import { colour, fill, type Ink } from "./theme.ts";

export interface BarPart {
  readonly ink: Ink;
  readonly ms: number;
}

export interface Bar {
  readonly up: readonly BarPart[];
  readonly down?: readonly BarPart[];
}

export interface BarChart {
  readonly label: string;
  readonly idle: string;
  readonly bars: readonly Bar[];
  /** Position of the first bar; the others follow in steps of one. */
  readonly first: number;
  readonly xTitle: string;
  readonly xTicks: (min: number, max: number) => number[];
  /** The highest and the lowest end of any bar, where it is not these bars' own. */
  readonly reach?: Reach;
  readonly textOf: (index: number) => string;
}

export interface Reach {
  readonly up: number;
  readonly down: number;
}

export function reachOf(bars: readonly Bar[]): Reach {
  return {
    up: Math.max(0, ...bars.map(({ up }) => total(up))),
    down: Math.max(0, ...bars.map(({ down = [] }) => total(down))),
  };
}

export function barChart({
  bars,
  first,
  xTicks,
  xTitle,
  textOf,
  reach = reachOf(bars),
  ...said
}: BarChart): Chart {
  const max = reach.up * 1.04 || 1;
  const min = -reach.down * 1.04;
  const unit = timeUnit(Math.max(reach.up, reach.down));
  const at = (index: number) => first + index;
  return {
    ...said,
    height: reach.down > 0 ? 320 : 260,
    x: { min: first - 0.6, max: at(bars.length - 1) + 0.6, title: xTitle, ticks: xTicks, plain: true },
    y: { min, max, ticks: ticks(unit, 6), text: tickText(unit), size: 58 },
    rows: 1,
    columns: () => bars.length,
    spotAt: (x) => {
      const column = Math.round(x - first);
      return bars[column] && { column, row: 0 };
    },
    boxOf: ({ column }) => ({ left: at(column) - 0.48, right: at(column) + 0.48, top: max, bottom: min }),
    textOf: ({ column }) => textOf(column),
    draw: (plot, context) => {
      const fills = new Map<Ink, string | CanvasPattern>();
      const fillOf = (ink: Ink) => {
        if (!fills.has(ink)) fills.set(ink, fill(context, ink));
        return fills.get(ink)!;
      };
      const stack = (parts: readonly BarPart[], index: number, sign: 1 | -1) => {
        let level = 0;
        for (const { ink, ms } of parts) {
          const box = boxOnCanvas(plot, {
            left: at(index) - 0.38,
            right: at(index) + 0.38,
            bottom: sign * level,
            top: sign * (level + ms),
          });
          context.fillStyle = fillOf(ink);
          context.fillRect(box.left, box.top, Math.max(1, box.right - box.left), box.bottom - box.top);
          level += ms;
        }
      };
      bars.forEach(({ up, down = [] }, index) => {
        stack(up, index, 1);
        stack(down, index, -1);
      });
      if (reach.down > 0) {
        const zero = plot.valToPos(0, "y", true);
        context.fillStyle = colour("ink");
        context.fillRect(plot.bbox.left, zero - devicePixelRatio / 2, plot.bbox.width, devicePixelRatio);
      }
    },
  };
}

function total(parts: readonly BarPart[]): number {
  return parts.reduce((sum, { ms }) => sum + ms, 0);
}
