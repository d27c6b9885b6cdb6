import { printable } from "../printable.ts";
import { graphemes, tabWidth, textWidth } from "../text-width.ts";

export interface Layout {
  /** Each fits its line and leaves the last column free. */
  readonly rows: readonly string[];
  readonly cursorRow: number;
  readonly cursorColumn: number;
}

/**
 * How a text that is being typed lies on the screen.
 *
 * @param prompts before the first line, and before each further one
 */
export function layOut(
  before: string,
  text: string,
  columns: number,
  prompts: readonly [first: string, further: string],
): Layout {
  const rows = [prompts[0]];
  let column = textWidth(prompts[0]);
  const put = (grapheme: string) => {
    if (grapheme === "\n") {
      rows.push(prompts[1]);
      column = textWidth(prompts[1]);
      return;
    }
    const shown = grapheme === "\t" ? " ".repeat(tabWidth(column)) : printable(grapheme);
    const width = textWidth(shown);
    if (column + width >= columns && column > 0) {
      rows.push("");
      column = 0;
    }
    rows[rows.length - 1] += shown;
    column += width;
  };
  for (const grapheme of graphemes(before)) put(grapheme);
  const cursor = { cursorRow: rows.length - 1, cursorColumn: column };
  for (const grapheme of graphemes(text.slice(before.length))) put(grapheme);
  return { rows, ...cursor };
}

/** As much of it as fits a screen of so many rows, around the cursor. */
export function windowOf({ rows, cursorRow, cursorColumn }: Layout, screenRows: number): Layout {
  const height = Math.max(1, screenRows);
  const first = Math.max(0, Math.min(rows.length - height, cursorRow - Math.floor(height / 2)));
  return { rows: rows.slice(first, first + height), cursorRow: cursorRow - first, cursorColumn };
}
