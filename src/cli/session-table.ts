import { formatBytes } from "../format-bytes.ts";
import { titleOf } from "../session-store/export.ts";
import type { SessionEntry } from "../session-store/list.ts";
import { printableLine } from "./printable.ts";
import { textWidth } from "./text-width.ts";
import { shortenText } from "./wrap-text.ts";

const TITLE_WIDTH = 40;
/** What is left of it where there is little room, and the columns that are left out for it, the first one first. */
const LEAST_TITLE = 20;
const DISPENSABLE = ["model", "size", "messages", "changed"];

/**
 * Lines of a table of conversations: name, last change, messages, size, model, and how it began.
 *
 * @param columns of the terminal: what has no room is left out, or cut
 */
export function sessionTable(entries: readonly SessionEntry[], columns = Infinity): string[] {
  const rows = entries.map(({ name, changed, bytes, head, problem }) => [
    printableLine(name),
    localTime(changed),
    head ? `${head.messages.length}` : "",
    formatBytes(bytes),
    head ? printableLine(`${head.model.name} ${head.model.dtype}`) : "",
    problem === undefined ? shortenText(printableLine(titleOf(head!)), TITLE_WIDTH) : "cannot be read",
  ]);
  return aligned([["name", "changed", "messages", "size", "model", "first question"], ...rows], columns);
}

/** By the columns that a terminal needs. */
function aligned(rows: readonly (readonly string[])[], columns: number): string[] {
  const [heads] = rows;
  const widths = heads.map((_, column) => Math.max(...rows.map((row) => textWidth(row[column]))));
  const last = heads.length - 1;
  const shown = new Set(heads.keys());
  /** Columns that are left for the last one. */
  const room = () =>
    [...shown].reduce((left, column) => left - (column < last ? widths[column] + 2 : 0), columns);
  const least = Math.min(widths[last], LEAST_TITLE);
  for (const name of DISPENSABLE) if (room() < least) shown.delete(heads.indexOf(name));
  return rows.map((row) => {
    const cells = [...shown].map((column) => {
      if (column === last) return shortenText(row[column], Math.max(room(), LEAST_TITLE));
      const blank = " ".repeat(widths[column] - textWidth(row[column]));
      return TO_THE_RIGHT.has(heads[column]) ? blank + row[column] : row[column] + blank;
    });
    return cells.join("  ").trimEnd();
  });
}

const TO_THE_RIGHT = new Set(["messages", "size"]);

/** `2026-01-31 23:59` where the user is. */
export function localTime(date: Date): string {
  const minutes = date.getTime() - date.getTimezoneOffset() * 60_000;
  return new Date(minutes).toISOString().slice(0, 16).replace("T", " ");
}
