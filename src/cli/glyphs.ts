/** The signs that bars are drawn with. */
export interface Glyphs {
  /** Parts of a full column, from left to right; the last one is full. */
  readonly parts: readonly string[];
  /** Heights, from nothing to full. */
  readonly levels: readonly string[];
  readonly empty: string;
  readonly rule: string;
  readonly between: string;
  readonly more: string;
  /** Text as this terminal can show it. */
  readonly text: (text: string) => string;
}

const UNICODE: Glyphs = {
  parts: [..."▏▎▍▌▋▊▉█"],
  levels: [..." ▁▂▃▄▅▆▇█"],
  empty: "·",
  rule: "─",
  between: " · ",
  more: "…",
  text: (text) => text,
};

const ASCII: Glyphs = {
  parts: ["-", "=", "#"],
  levels: [" ", ".", ":", "=", "#"],
  empty: ".",
  rule: "-",
  between: ", ",
  more: "~",
  text: (text) => text.replace(/[^\n\t -~]\p{M}*/gu, "?"),
};

/** Block characters where the locale of the environment is UTF-8, otherwise ASCII. */
export function glyphsFor(environment: NodeJS.ProcessEnv, platform = process.platform): Glyphs {
  const locale = environment["LC_ALL"] || environment["LC_CTYPE"] || environment["LANG"] || "";
  // Windows has no such variables, and its terminals have the characters.
  return platform === "win32" || /utf-?8/i.test(locale) ? UNICODE : ASCII;
}

/** A bar of `columns` columns, of which this share is filled. */
export function bar(share: number, columns: number, glyphs: Glyphs): string {
  return Array.from({ length: columns }, (_, column) => part(share * columns - column, glyphs)).join("");
}

/** One column that is filled to this share (below 0: nothing, above 1: all of it). */
function part(share: number, { parts, empty }: Glyphs): string {
  const filled = Math.round(Math.min(1, share) * parts.length);
  return filled > 0 ? parts[filled - 1] : empty;
}

/**
 * How cells of a number of stages share a width: columns of each, with the gap behind it. 0: there is not room for two
 * columns each, and the strip goes through without cells.
 */
function cellsOf(stages: number, columns: number) {
  const room = Math.floor(columns / stages);
  const cell = room < 2 ? 0 : room;
  const gap = cell >= 3 ? 1 : 0;
  return { cell, gap, used: cell > 0 ? stages * cell - gap : columns };
}

/**
 * A strip with a cell for each stage, filled up to a point.
 *
 * @param filled stages, with a fraction for the one that is half done
 */
export function strip(filled: number, stages: number, columns: number, glyphs: Glyphs): string {
  const { cell, gap, used } = cellsOf(stages, columns);
  if (cell === 0) return bar(filled / stages, columns, glyphs);
  return Array.from({ length: used }, (_, column) => {
    const inCell = column % cell;
    if (inCell >= cell - gap) return " ";
    return part((filled - Math.floor(column / cell)) * (cell - gap) - inCell, glyphs);
  }).join("");
}

/** A strip that shows a share of each stage by its height. */
export function levelStrip(shares: readonly number[], columns: number, { levels }: Glyphs): string {
  const { cell, gap, used } = cellsOf(shares.length, columns);
  return Array.from({ length: used }, (_, column) => {
    if (cell > 0 && column % cell >= cell - gap) return " ";
    const stage = Math.floor(cell > 0 ? column / cell : (column * shares.length) / columns);
    const level = Math.ceil(shares[stage] * (levels.length - 1));
    return levels[Math.min(levels.length - 1, level)];
  }).join("");
}

/** Numbers of layers above the cells of a strip, as many as there is room for; the last stage is the output. */
export function stripNumbers(stages: number, columns: number): string {
  const { cell, used } = cellsOf(stages, columns);
  const at = (stage: number) => (cell > 0 ? stage * cell : Math.ceil((stage * columns) / stages));
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((every) => at(every) >= 4) ?? stages;
  let line = "";
  for (let layer = 0; layer < stages - 1; layer += step)
    if (at(layer) + `${layer}`.length <= used) line = `${line.padEnd(at(layer))}${layer}`;
  const output = "out";
  const start = used - output.length;
  return start > line.length ? `${line.padEnd(start)}${output}` : line;
}
