import { textWidth } from "./text-width.ts";

/**
 * Lines of a table whose cells may hold any text: columns are counted as a terminal shows them.
 *
 * @param left which columns are aligned left; all others right
 */
export function textTable(rows: readonly (readonly string[])[], left: readonly number[] = [0]): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => textWidth(row[column] ?? ""))),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const space = " ".repeat(widths[column] - textWidth(cell));
        return left.includes(column) ? cell + space : space + cell;
      })
      .join("  ")
      .trimEnd(),
  );
}
