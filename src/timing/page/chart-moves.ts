/** How keys and buttons walk over the values of a chart, and look closer. */
import type uPlot from "uplot";
import type { Chart, Spot } from "./chart.ts";
import { el } from "./dom.ts";

/** The value that a key leads to, if it leads to one. */
export function move(chart: Chart, { column, row }: Spot, key: string): Spot | undefined {
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

export function zoomButtons(zoom: (key: string) => void): HTMLElement {
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

/** @returns whether it was a key that zooms */
export function zoomByKey(plot: uPlot, chart: Chart, key: string, spot: Spot | undefined): boolean {
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

export function bringIntoView(plot: uPlot, chart: Chart, spot: Spot): void {
  const { min = chart.x.min, max = chart.x.max } = plot.scales["x"] as { min?: number; max?: number };
  const { left, right } = chart.boxOf(spot);
  if (left >= min && right <= max) return;
  const span = max - min;
  const from = Math.min(Math.max((left + right) / 2 - span / 2, chart.x.min), chart.x.max - span);
  plot.setScale("x", { min: from, max: from + span });
}
