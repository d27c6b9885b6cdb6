/** Draws what there is to see of a generation: a pure function from a state and the size of a window to lines. */
import { formatBytes } from "../format-bytes.ts";
import { bar, type Glyphs, levelStrip, strip, stripNumbers } from "./glyphs.ts";
import { printable, printableLine } from "./printable.ts";
import { textWidth } from "./text-width.ts";
import type { WatchState } from "./watch-state.ts";
import { percent, progressPieces } from "./watch-text.ts";
import { cutText, wrapText } from "./wrap-text.ts";

export interface WindowSize {
  readonly columns: number;
  readonly rows: number;
}

export interface Look {
  readonly glyphs: Glyphs;
  /** Without: no colours, and nothing bold or dim. */
  readonly colours: boolean;
  /** How it is stopped. */
  readonly keys: string;
}

/** The smallest window in which everything has its place. */
export const LEAST_SIZE: WindowSize = { columns: 40, rows: 10 };

const LABEL_COLUMNS = 9;
/** Columns beside a strip that tell which layer it is filled to. */
const AT_COLUMNS = 10;

/** As many lines as the window has rows, none of them wider than it; also where it is too small for all. */
export function watchLines(state: WatchState, size: WindowSize, look: Look): string[] {
  const { columns, rows } = size;
  if (rows < 1 || columns < 2) return [];
  if (columns < LEAST_SIZE.columns || rows < LEAST_SIZE.rows) return smallWindow(state, size, look);
  const drawing = new Drawing(state, columns, look);
  const roomy = rows >= 24;
  const blank = roomy ? [""] : [];
  const above = [
    drawing.title(),
    ...blank,
    ...(rows >= 14 ? [drawing.numbers()] : []),
    ...drawing.strips(),
    ...blank,
    ...drawing.meters(rows >= 14),
    ...blank,
    ...(rows >= 12 ? [drawing.rule()] : []),
    drawing.tokens(),
    ...blank,
  ];
  const text = drawing.text(rows - above.length - 1);
  return [...above, ...text, drawing.keys()];
}

function smallWindow(state: WatchState, { columns, rows }: WindowSize, look: Look): string[] {
  const drawing = new Drawing(state, columns, look);
  return rows === 1 ? [drawing.tokens()] : [drawing.tokens(), ...drawing.text(rows - 1)];
}

const STYLES = { bold: 1, dim: 2, green: 32, yellow: 33, cyan: 36 } as const;

class Drawing {
  readonly #state: WatchState;
  readonly #columns: number;
  readonly #look: Look;

  constructor(state: WatchState, columns: number, look: Look) {
    this.#state = state;
    this.#columns = columns;
    this.#look = look;
  }

  title(): string {
    return this.#line([this.#state.title, "bold"]);
  }

  keys(): string {
    return this.#line([this.#look.keys, "dim"]);
  }

  rule(): string {
    return this.#line([this.#look.glyphs.rule.repeat(this.#columns), "dim"]);
  }

  numbers(): string {
    return this.#line(["layer".padEnd(LABEL_COLUMNS)], [this.#numbersOf(this.#stripColumns), "dim"]);
  }

  /** What the reader has brought, what is computed and, where there is any, what stays in memory. */
  strips(): string[] {
    const { position, stages } = this.#state;
    const { brought, computed, ahead } = position;
    const room = this.#stripColumns;
    const row = (name: string, filled: number, style: Style, at: string) =>
      this.#line([name.padEnd(LABEL_COLUMNS)], [this.#strip(filled, room), style], [` ${at}`, "dim"]);
    const read = ahead > 0 ? `next ${Math.floor(ahead)}` : this.#stageName(brought);
    const shares = stages.map(({ bytes, residentBytes }) => residentBytes / bytes);
    const stays = [levelStrip(shares, room, this.#look.glyphs), "yellow"] as const;
    const resident = stages.reduce((sum, { residentBytes }) => sum + residentBytes, 0);
    const held = [` ${formatBytes(resident)}`, "dim"] as const;
    return [
      row("read", brought, "cyan", read),
      row("compute", computed, "green", this.#stageName(computed)),
      ...(resident > 0 ? [this.#line(["resident".padEnd(LABEL_COLUMNS)], stays, held)] : []),
    ];
  }

  meters(withContext: boolean): string[] {
    const { state, kv } = { state: this.#state, kv: formatBytes(this.#state.kvBytes) };
    const { rssBytes, weightBytes, overheadBytes, kvBytes, contextLength, contextTokens } = state;
    const budget = weightBytes + overheadBytes + kvBytes;
    const rss = `${formatBytes(rssBytes)} of ${formatBytes(budget)}`;
    const weights = `weights ${formatBytes(weightBytes)}`;
    return [
      this.#diskMeter(),
      this.#meter("working", 1 - state.waiting, "green", [
        `${percent(1 - state.waiting)}, ${percent(state.waiting)} waiting for weights`,
        `${percent(1 - state.waiting)}, ${percent(state.waiting)} waiting`,
        percent(1 - state.waiting),
      ]),
      this.#meter("memory", rssBytes / budget, rssBytes > budget ? "yellow" : undefined, [
        `RSS ${rss}, ${weights}, KV ${kv}`,
        `RSS ${rss}, KV ${kv}`,
        `${formatBytes(rssBytes)}, KV ${kv}`,
        rss,
      ]),
      ...(withContext
        ? [
            this.#meter("context", contextTokens / contextLength, undefined, [
              `${contextTokens} of ${contextLength} tokens`,
            ]),
          ]
        : []),
    ];
  }

  /** What has come and what is to come; as much of it as fits. */
  tokens(): string {
    const { between } = this.#look.glyphs;
    let line = "";
    for (const piece of this.#pieces()) {
      const longer = line === "" ? piece : `${line}${between}${piece}`;
      if (line === "" || textWidth(longer) <= this.#columns) line = longer;
    }
    return this.#line([line]);
  }

  /** The end of the text, in so many lines. */
  text(rows: number): string[] {
    const { glyphs } = this.#look;
    const harmless = glyphs.text(printable(tailOf(this.#state.text, 2 * rows * this.#columns)));
    const lines = wrapText(harmless, this.#columns).slice(-rows);
    return Array.from({ length: rows }, (_, row) => this.#line([lines[row] ?? ""]));
  }

  #pieces(): string[] {
    const { lastToken, tokens } = this.#state;
    const shown = this.#look.glyphs.text(printableLine(lastToken));
    return [...progressPieces(this.#state), ...(tokens > 0 ? [`last "${shown}"`] : [])];
  }

  #diskMeter(): string {
    const { source, diskSpeed, readRate, highestRate } = this.#state;
    if (source === "memory") return this.#meter("disk", 0, "cyan", ["all weights are in memory", "idle"]);
    // Only what bypasses the page cache has a limit: else the bar can but tell how it was before.
    const full = (source === "disk" ? diskSpeed : undefined) ?? highestRate;
    return this.#meter("disk", full > 0 ? readRate / full : 0, "cyan", diskTexts(this.#state));
  }

  #meter(name: string, share: number, style: Style, texts: readonly string[]): string {
    const room = this.#columns - LABEL_COLUMNS;
    const columns = Math.min(40, Math.max(8, Math.floor(room * 0.4)));
    const left = room - columns - 1;
    const text = texts.find((candidate) => textWidth(candidate) <= left) ?? texts[texts.length - 1];
    const filled = bar(Math.min(1, share), columns, this.#look.glyphs);
    return this.#line([name.padEnd(LABEL_COLUMNS)], [filled, style], [` ${text}`]);
  }

  get #stripColumns(): number {
    return this.#columns - LABEL_COLUMNS - AT_COLUMNS;
  }

  #numbersOf(columns: number): string {
    return stripNumbers(this.#state.stages.length, columns);
  }

  #strip(filled: number, columns: number): string {
    return strip(filled, this.#state.stages.length, columns, this.#look.glyphs);
  }

  #stageName(filled: number): string {
    const { stages, position } = this.#state;
    if (filled >= position.stages) return position.stages > 0 ? "done" : "";
    return filled >= stages.length - 1 ? "output" : `layer ${Math.floor(filled)}`;
  }

  /** A line of pieces, cut to the window; only then they get their style. */
  #line(...pieces: readonly (readonly [text: string, style?: Style])[]): string {
    let room = this.#columns;
    let line = "";
    for (const [text, style] of pieces) {
      const fits = textWidth(text) <= room;
      const { more } = this.#look.glyphs;
      const shown = fits ? text : room > 0 ? `${cutText(text, room - 1)}${more}` : "";
      room -= textWidth(shown);
      const styled = style !== undefined && this.#look.colours && shown !== "";
      line += styled ? `\x1b[${STYLES[style]}m${shown}\x1b[0m` : shown;
    }
    return line;
  }
}

/** How fast weights are read, and against what; the longest text first. */
function diskTexts({ source, diskSpeed, readRate, highestRate }: WatchState): string[] {
  const rate = `${formatBytes(readRate)}/s`;
  const disk = diskSpeed === undefined ? undefined : `${formatBytes(diskSpeed)}/s`;
  const most = `at most ${formatBytes(highestRate)}/s`;
  if (source === "page cache") {
    const through = `${rate} through the page cache`;
    return [
      disk ? `${through} (disk: ${disk})` : `${through}, ${most}`,
      through,
      `${rate}, page cache`,
      rate,
    ];
  }
  if (diskSpeed === undefined) return [`${rate}, ${most} so far`, rate];
  if (readRate > diskSpeed)
    return [`${rate}, above the ${disk} that were measured`, `${rate}, above ${disk}`, rate];
  return [`${rate} of ${disk}`, rate];
}

type Style = keyof typeof STYLES | undefined;

/**
 * The end of a text, long enough. Where it begins changes only now and then, at the start of a line if there is one:
 * otherwise all lines would break anew with every character.
 */
function tailOf(text: string, length: number): string {
  const block = Math.max(1024, length);
  if (text.length <= 2 * block) return text;
  const from = (Math.floor(text.length / block) - 1) * block;
  const lineStart = text.indexOf("\n", from) + 1;
  if (lineStart > 0 && text.length - lineStart >= length) return text.slice(lineStart);
  // Not in the middle of a surrogate pair.
  return text.slice(/^[\udc00-\udfff]/.test(text[from]) ? from + 1 : from);
}
