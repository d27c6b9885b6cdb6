import { formatBytes } from "../format-bytes.ts";
import { titleOf } from "../session-store/export.ts";
import type { SessionEntry } from "../session-store/list.ts";
import { printableLine } from "./printable.ts";
import { textWidth } from "./text-width.ts";

const TITLE_WIDTH = 40;

/** Lines of a table of conversations: name, last change, messages, size, model, and how it began. */
export function sessionTable(entries: readonly SessionEntry[]): string[] {
  const rows = entries.map(({ name, changed, bytes, head, problem }) => [
    printableLine(name),
    localTime(changed),
    head ? `${head.messages.length}` : "",
    formatBytes(bytes),
    head ? printableLine(`${head.model.name} ${head.model.dtype}`) : "",
    problem === undefined ? shortened(printableLine(titleOf(head!))) : "cannot be read",
  ]);
  return aligned([["name", "changed", "messages", "size", "model", "first question"], ...rows]);
}

/** Numbers (the third and fourth column) to the right, the rest to the left, by the columns that a terminal needs. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => textWidth(row[column]))));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const room = " ".repeat(widths[column] - textWidth(cell));
        return column === 2 || column === 3 ? room + cell : cell + room;
      })
      .join("  ")
      .trimEnd(),
  );
}

function shortened(text: string): string {
  if (textWidth(text) <= TITLE_WIDTH) return text;
  let short = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (textWidth(short + segment) >= TITLE_WIDTH) break;
    short += segment;
  }
  return `${short}…`;
}

/** `2026-01-31 23:59` where the user is. */
export function localTime(date: Date): string {
  const minutes = date.getTime() - date.getTimezoneOffset() * 60_000;
  return new Date(minutes).toISOString().slice(0, 16).replace("T", " ");
}
