import { el } from "./dom.ts";
import { fill, type Ink, onColours } from "./theme.ts";

export interface LegendEntry {
  readonly ink: Ink;
  readonly text: string;
}

/** What the patterns of a chart mean. */
export function legend(entries: readonly LegendEntry[]): HTMLElement {
  return el("ul", { class: "legend" }, ...entries.map(({ ink, text }) => el("li", {}, swatch(ink), text)));
}

function swatch(ink: Ink): HTMLElement {
  const scale = devicePixelRatio;
  const canvas = el("canvas", { width: 22 * scale, height: 14 * scale, "aria-hidden": "true" });
  const paint = () => {
    const context = canvas.getContext("2d")!;
    context.fillStyle = fill(context, ink);
    context.fillRect(0, 0, canvas.width, canvas.height);
  };
  paint();
  const stop = onColours(() => (canvas.isConnected ? paint() : stop()));
  return canvas;
}
