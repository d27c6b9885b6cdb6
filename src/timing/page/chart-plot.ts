/** The part of a chart that uPlot draws: axes and scales; and where things are on it. */
import type uPlot from "uplot";
import type { Axis, Box, Chart } from "./chart.ts";
import { colour } from "./theme.ts";

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

/** @param placed called when what is on the chart has moved */
export function plotOptions(chart: Chart, width: number, placed: () => void): uPlot.Options {
  const axis = ({ title, ticks, text, size, plain }: Axis, scale: "x" | "y"): uPlot.Axis => ({
    scale,
    font: FONT,
    labelFont: FONT,
    stroke: () => colour("muted"),
    grid: { show: !plain, stroke: () => colour("grid"), width: 1 },
    ticks: { show: !plain, stroke: () => colour("grid"), width: 1, size: 4 },
    gap: 4,
    size: size ?? (scale === "x" ? 26 : 56),
    ...(title !== undefined && { label: title, labelSize: 18, labelGap: 0 }),
    ...(ticks && { splits: (_plot: uPlot, _axis: number, min: number, max: number) => ticks(min, max) }),
    values: (_plot: uPlot, values: number[]) => values.map(text ?? ((value) => `${value}`)),
  });
  return {
    width,
    height: chart.height,
    padding: [10, 20, 0, 0],
    legend: { show: false },
    cursor: {
      x: false,
      y: false,
      points: { show: false },
      drag: { x: chart.zoom === true, y: false, setScale: chart.zoom === true },
    },
    scales: {
      x: { time: false, range: (_plot, min, max) => [min ?? chart.x.min, max ?? chart.x.max] },
      y: { range: [chart.y.min, chart.y.max], dir: chart.y.down ? -1 : 1 },
    },
    series: [{}, { paths: () => null, points: { show: false } }],
    axes: [axis(chart.x, "x"), axis(chart.y, "y")],
    hooks: {
      setScale: [placed],
      setSize: [placed],
      draw: [
        (plot) => {
          const { ctx, bbox } = plot;
          ctx.save();
          ctx.beginPath();
          ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
          ctx.clip();
          chart.draw(plot, ctx);
          ctx.restore();
        },
      ],
    },
  };
}

/** A box of axis units in pixels of the canvas. */
export function boxOnCanvas(plot: uPlot, { left, right, top, bottom }: Box): Box {
  const [x0, x1] = [plot.valToPos(left, "x", true), plot.valToPos(right, "x", true)];
  const [y0, y1] = [plot.valToPos(top, "y", true), plot.valToPos(bottom, "y", true)];
  return { left: x0, right: x1, top: Math.min(y0, y1), bottom: Math.max(y0, y1) };
}

/** The part of a box that is to be seen, in pixels of the page. */
export function boxOnPage(plot: uPlot, box: Box): Box {
  const { left, right, top, bottom } = boxOnCanvas(plot, box);
  const scale = devicePixelRatio;
  const { width, height } = plot.bbox;
  const x = (value: number) => Math.min(Math.max(value - plot.bbox.left, 0), width) / scale;
  const y = (value: number) => Math.min(Math.max(value - plot.bbox.top, 0), height) / scale;
  return { left: x(left), right: x(right), top: y(top), bottom: y(bottom) };
}
