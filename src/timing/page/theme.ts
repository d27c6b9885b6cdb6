/**
 * Colours of the charts, from the style sheet, light or dark. Each kind of work has a pattern beside its colour, so that
 * it can be told without seeing colours.
 */

export type Ink =
  | "read"
  | "wait"
  | "attention"
  | "feed-forward"
  | "compute"
  | "output"
  | "dequantize"
  | "encode"
  | "write"
  | "prefill"
  | "span";

const PATTERNS: Readonly<Record<Ink, "plain" | "rising" | "upright" | "level" | "crossed">> = {
  read: "plain",
  wait: "rising",
  attention: "plain",
  compute: "plain",
  "feed-forward": "upright",
  output: "level",
  dequantize: "plain",
  encode: "upright",
  write: "rising",
  prefill: "rising",
  span: "plain",
};

const dark = matchMedia("(prefers-color-scheme: dark)");
const repaints = new Set<() => void>();
/** Looked up once: asking for a style makes the browser lay out the page. */
const colours = new Map<string, string>();

dark.addEventListener("change", () => {
  colours.clear();
  for (const repaint of repaints) repaint();
});

/** Call when the colours change. @returns what ends that */
export function onColours(repaint: () => void): () => void {
  repaints.add(repaint);
  return () => repaints.delete(repaint);
}

/** A colour of the style sheet: `ink`, `muted`, `grid`, … */
export function colour(name: string): string {
  const known = colours.get(name);
  if (known !== undefined) return known;
  const found = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  colours.set(name, found);
  return found;
}

/** What to fill shapes of a kind with. */
export function fill(context: CanvasRenderingContext2D, ink: Ink): string | CanvasPattern {
  const kind = PATTERNS[ink];
  if (kind === "plain") return colour(ink);
  const size = Math.round(6 * devicePixelRatio);
  const tile = new OffscreenCanvas(size, size);
  const brush = tile.getContext("2d")!;
  brush.fillStyle = colour(`${ink}-ground`);
  brush.fillRect(0, 0, size, size);
  brush.strokeStyle = colour(ink);
  brush.lineWidth = size * (kind === "rising" ? 0.36 : 0.3);
  brush.beginPath();
  if (kind === "rising")
    for (const shift of [-size, 0, size]) {
      brush.moveTo(shift - size, 2 * size);
      brush.lineTo(shift + 2 * size, -size);
    }
  if (kind === "upright") {
    brush.moveTo(size / 2, 0);
    brush.lineTo(size / 2, size);
  }
  if (kind === "level") {
    brush.moveTo(0, size / 2);
    brush.lineTo(size, size / 2);
  }
  brush.stroke();
  return context.createPattern(tile, "repeat")!;
}

/** 64 steps from nothing to most, evenly darker (lighter where it is dark). */
export function ramp(name: string): string[] {
  const stops = [`${name}-low`, name, `${name}-high`].map((stop) => components(colour(stop)));
  return Array.from({ length: 64 }, (_, step) => {
    const place = (step / 63) * 2;
    const [from, to] = place < 1 ? [stops[0], stops[1]] : [stops[1], stops[2]];
    const share = place < 1 ? place : place - 1;
    const mixed = from.map((value, channel) => Math.round(value + (to[channel] - value) * share));
    return `rgb(${mixed.join(" ")})`;
  });
}

/** Red, green and blue of `#rrggbb`. */
function components(hex: string): number[] {
  return [1, 3, 5].map((start) => Number.parseInt(hex.slice(start, start + 2), 16));
}
