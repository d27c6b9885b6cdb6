/**
 * What all charts have in common: uPlot draws axes and scales, the chart its shapes; pointer, finger and arrow keys walk
 * over the values, and a line below says what is there. To a screen reader the chart is a slider that speaks its values.
 */
import uPlot from "uplot";
import { tieUnits } from "../units.ts";
import { bringIntoView, move, zoomButtons, zoomByKey } from "./chart-moves.ts";
import { boxOnPage, plotOptions } from "./chart-plot.ts";
import { el } from "./dom.ts";
import { onColours } from "./theme.ts";

/** A value of a chart: the place in its row, and the row. */
export interface Spot {
  readonly column: number;
  readonly row: number;
}

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export interface Axis {
  readonly min: number;
  readonly max: number;
  readonly title?: string;
  /** Where ticks are, and what stands at them; else round numbers. */
  readonly ticks?: (min: number, max: number) => number[];
  readonly text?: (value: number) => string;
  /** Width of the tick texts in pixels. */
  readonly size?: number;
  /** From top to bottom. */
  readonly down?: boolean;
  /** Without lines through the chart. */
  readonly plain?: boolean;
}

export interface Chart {
  /** What it shows, for those who do not see it. */
  readonly label: string;
  /** Said below while nothing is pointed at. */
  readonly idle: string;
  readonly height: number;
  readonly x: Axis;
  readonly y: Axis;
  /** Whether dragging, + and - zoom along x. */
  readonly zoom?: boolean;
  /** Draw in pixels of the canvas; `clip` is set. */
  readonly draw: (plot: uPlot, context: CanvasRenderingContext2D) => void;
  readonly rows: number;
  /** How many values a row has. */
  readonly columns: (row: number) => number;
  /** The value at a place in units of the axes. */
  readonly spotAt: (x: number, y: number) => Spot | undefined;
  readonly boxOf: (spot: Spot) => Box;
  readonly textOf: (spot: Spot) => string;
}

/**
 * Put a chart into the page.
 *
 * @param below what stands between it and the line that says its values
 * @returns what takes it away again
 */
export function mountChart(host: HTMLElement, chart: Chart, below: readonly HTMLElement[] = []): () => void {
  const frame = el("div", {
    class: "chart",
    tabindex: 0,
    role: "slider",
    "aria-label": chart.label,
    "aria-valuemin": 0,
    "aria-valuemax": Math.max(0, chart.columns(0) - 1),
    "aria-valuenow": 0,
    "aria-valuetext": chart.idle,
  });
  const readout = el("p", { class: "readout" }, tieUnits(chart.idle));
  const mark = el("div", { class: "mark", hidden: true });
  host.append(frame, el("div", { class: "under" }, ...below), readout);

  const plot = new uPlot(
    plotOptions(chart, host.clientWidth || 320, () => place()),
    [
      [chart.x.min, chart.x.max],
      [chart.y.min, chart.y.max],
    ],
    frame,
  );
  plot.over.append(mark);
  let spot: Spot | undefined;
  if (chart.zoom) frame.nextElementSibling?.append(zoomButtons((key) => zoomByKey(plot, chart, key, spot)));

  const show = (next: Spot | undefined) => {
    spot = next;
    const text = tieUnits(next ? chart.textOf(next) : chart.idle);
    readout.textContent = text;
    frame.setAttribute("aria-valuetext", text);
    if (next) {
      frame.setAttribute("aria-valuenow", `${next.column}`);
      frame.setAttribute("aria-valuemax", `${chart.columns(next.row) - 1}`);
    }
    place();
  };
  const place = () => {
    mark.hidden = spot === undefined;
    if (spot === undefined) return;
    const { left, right, top, bottom } = boxOnPage(plot, chart.boxOf(spot));
    mark.style.left = `${left}px`;
    mark.style.top = `${top}px`;
    mark.style.width = `${Math.max(2, right - left)}px`;
    mark.style.height = `${Math.max(2, bottom - top)}px`;
  };
  const point = (event: PointerEvent) => {
    const { left, top } = plot.over.getBoundingClientRect();
    const x = plot.posToVal(event.clientX - left, "x");
    const y = plot.posToVal(event.clientY - top, "y");
    show(chart.spotAt(x, y) ?? spot);
  };
  plot.over.addEventListener("pointermove", point);
  plot.over.addEventListener("pointerdown", point);
  plot.over.addEventListener("pointerleave", () => document.activeElement !== frame && show(undefined));
  frame.addEventListener(
    "focus",
    () => frame.matches(":focus-visible") && show(spot ?? { column: 0, row: 0 }),
  );
  frame.addEventListener("blur", () => show(undefined));
  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (chart.zoom && zoomByKey(plot, chart, event.key, spot)) return event.preventDefault();
    const next = move(chart, spot ?? { column: 0, row: 0 }, event.key);
    if (next === undefined) return;
    event.preventDefault();
    show(next);
    if (chart.zoom) bringIntoView(plot, chart, next);
  });

  const resize = new ResizeObserver(() => {
    const width = Math.floor(host.clientWidth);
    if (width > 0 && width !== plot.width) plot.setSize({ width, height: chart.height });
  });
  resize.observe(host);
  const stop = onColours(() => plot.redraw(false));
  return () => {
    stop();
    resize.disconnect();
    plot.destroy();
    frame.remove();
    readout.remove();
  };
}
