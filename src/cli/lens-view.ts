import type { LensPosition } from "../engine/types.ts";
import type { Tokenizer } from "../text/types.ts";
import { showPiece } from "./show-piece.ts";
import { textTable } from "./text-table.ts";
import { textWidth } from "./text-width.ts";

/**
 * A table with a line for each layer and a column for each position: the most probable next token and its probability
 * in percent. What does not fit beside each other comes below.
 */
export function lensLines(
  positions: readonly LensPosition[],
  tokenizer: Tokenizer,
  columns: number,
): string[] {
  const piece = (id: number) => showPiece(tokenizer.bytes(id, true));
  const stages = positions[0]?.stages.length ?? 0;
  const names = Array.from({ length: stages }, (_, stage) =>
    stage === 0 ? "embedding" : `layer ${stage - 1}`,
  );
  const cells = positions.map(({ position, id, stages }) => [
    `${position} ${piece(id)}`,
    ...stages.map(([{ id, logprob }]) => `${piece(id)} ${(Math.exp(logprob) * 100).toFixed(0).padStart(3)}`),
  ]);
  const widths = cells.map((column) => Math.max(...column.map(textWidth)) + 2);
  const lines: string[] = [];
  for (let first = 0; first < cells.length; ) {
    let end = first;
    let room = columns - "embedding".length;
    do room -= widths[end++];
    while (end < cells.length && widths[end] <= room);
    const shown = cells.slice(first, end);
    if (lines.length > 0) lines.push("");
    lines.push(
      ...textTable(["after", ...names].map((name, row) => [name, ...shown.map((column) => column[row])])),
    );
    first = end;
  }
  return lines;
}
