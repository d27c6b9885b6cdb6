import { textWidth } from "./text-width.ts";

/** What has fewer columns has no room for two of text. */
const NARROW = 60;

/**
 * Lines of a list in which each entry has a name and what it is: side by side, or below each other in a narrow window.
 * An entry of nothing is a blank line.
 */
export function listRows(
  entries: readonly (readonly [head: string, text: string] | readonly [])[],
  { isTTY, columns = 80 }: { readonly isTTY?: boolean; readonly columns?: number },
): string[] {
  const isNarrow = isTTY === true && columns < NARROW;
  const width = Math.max(...entries.map(([head = ""]) => textWidth(head)));
  return entries.flatMap(([head = "", text = ""]) => {
    if (isNarrow && text !== "") return [head, `    ${text}`];
    return [`${head}${" ".repeat(width - textWidth(head))}  ${text}`.trimEnd()];
  });
}
