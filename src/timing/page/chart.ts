/**
 * What all charts have in common: uPlot draws axes and scales, the chart its shapes; pointer, finger and arrow keys walk
 * over the values, and a line below says what is there. To a screen reader the chart is a slider that speaks its values.
 */
import uPlot from "uplot";
import { tieUnits } from "../units.ts";
import { el } from "./dom.ts";
import { colour, onColours } from "./theme.ts";

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

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

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

function plotOptions(chart: Chart, width: number, placed: () => void): uPlot.Options {
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
function boxOnPage(plot: uPlot, box: Box): Box {
  const { left, right, top, bottom } = boxOnCanvas(plot, box);
  const scale = devicePixelRatio;
  const { width, height } = plot.bbox;
  const x = (value: number) => Math.min(Math.max(value - plot.bbox.left, 0), width) / scale;
  const y = (value: number) => Math.min(Math.max(value - plot.bbox.top, 0), height) / scale;
  return { left: x(left), right: x(right), top: y(top), bottom: y(bottom) };
}

function move(chart: Chart, { column, row }: Spot, key: string): Spot | undefined {
  const last = chart.columns(row) - 1;
  const within = (value: number, most: number) => Math.min(Math.max(value, 0), Math.max(0, most));
  const page = Math.max(1, Math.round(last / 10));
  switch (key) {
    case "ArrowLeft":
      return { column: within(column - 1, last), row };
    case "ArrowRight":
      return { column: within(column + 1, last), row };
    case "PageUp":
      return { column: within(column - page, last), row };
    case "PageDown":
      return { column: within(column + page, last), row };
    case "Home":
      return { column: 0, row };
    case "End":
      return { column: last, row };
    case "ArrowUp":
    case "ArrowDown": {
      const next = within(row + (key === "ArrowDown" ? 1 : -1), chart.rows - 1);
      return { column: nearestColumn(chart, { column, row }, next), row: next };
    }
  }
  return undefined;
}

/** In another row, the value that lies above or below. */
function nearestColumn(chart: Chart, from: Spot, row: number): number {
  if (row === from.row) return from.column;
  const middle = (spot: Spot) => (chart.boxOf(spot).left + chart.boxOf(spot).right) / 2;
  const target = middle(from);
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let column = 0; column < chart.columns(row); column++) {
    const distance = Math.abs(middle({ column, row }) - target);
    if (distance < least) [best, least] = [column, distance];
  }
  return best;
}

function zoomButtons(zoom: (key: string) => void): HTMLElement {
  const button = (key: string, text: string, label: string) => {
    const made = el("button", { type: "button", "aria-label": label, title: label }, text);
    // What is pointed at stays the middle of it.
    made.addEventListener("pointerdown", (event) => event.preventDefault());
    made.addEventListener("click", () => zoom(key));
    return made;
  };
  return el(
    "div",
    { class: "zoom" },
    button("+", "+", "Look closer"),
    button("-", "−", "See more"),
    button("0", "all", "See all"),
  );
}

function zoomByKey(plot: uPlot, chart: Chart, key: string, spot: Spot | undefined): boolean {
  const factor = { "+": 0.5, "=": 0.5, "-": 2, "0": Number.POSITIVE_INFINITY }[key];
  if (factor === undefined) return false;
  const { min = chart.x.min, max = chart.x.max } = plot.scales["x"] as { min?: number; max?: number };
  const box = spot && chart.boxOf(spot);
  const middle = box ? (box.left + box.right) / 2 : (min + max) / 2;
  const span = Math.min((max - min) * factor, chart.x.max - chart.x.min);
  const from = Math.min(Math.max(middle - span / 2, chart.x.min), chart.x.max - span);
  plot.setScale("x", { min: from, max: from + span });
  return true;
}

function bringIntoView(plot: uPlot, chart: Chart, spot: Spot): void {
  const { min = chart.x.min, max = chart.x.max } = plot.scales["x"] as { min?: number; max?: number };
  const { left, right } = chart.boxOf(spot);
  if (left >= min && right <= max) return;
  const span = max - min;
  const from = Math.min(Math.max((left + right) / 2 - span / 2, chart.x.min), chart.x.max - span);
  plot.setScale("x", { min: from, max: from + span });
}
