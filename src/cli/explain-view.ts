import type { Candidate, Choice, GeneratedToken } from "../engine/types.ts";
import type { Tokenizer } from "../text/types.ts";
import { showPiece } from "./show-piece.ts";
import { textTable } from "./text-table.ts";

/** Candidates that `--explain` shows of each token. */
export const EXPLAINED = 5;

/** How each token was chosen: probabilities before and after the sampler, and what it removed. */
export function explainLines(tokens: readonly GeneratedToken[], tokenizer: Tokenizer): string[] {
  const piece = (id: number) => showPiece(tokenizer.bytes(id, true));
  const rows: string[][] = [["", "", "before", "after", ""]];
  for (const [index, { id, choice }] of tokens.entries()) {
    if (choice === undefined) continue;
    for (const [rank, candidate] of choice.candidates.entries()) {
      rows.push([
        rank === 0 ? `${index + 1}` : "",
        `${candidate.id === id ? ">" : " "} ${piece(candidate.id)}`,
        percent(candidate.before),
        candidate.removed === undefined ? percent(candidate.after) : "-",
        remark(candidate),
      ]);
    }
    const left = stepsText(choice);
    if (left !== "") rows.push(["", `  ${left}`]);
  }
  return tableWithWideRows(rows);
}

/** What every step left. */
function stepsText({ steps }: Choice): string {
  return steps
    .map(({ step, left, mass }) =>
      step === "repeat-penalty" ? step : `${step} leaves ${left} (${percent(mass)})`,
    )
    .join(", ");
}

function remark({ removed }: Candidate): string {
  return removed === undefined ? "" : `removed by ${removed}`;
}

export function percent(probability: number): string {
  const value = probability * 100;
  return `${value.toFixed(value > 0 && value < 0.995 ? 2 : 1)} %`;
}

/** Rows of two cells are remarks, and do not widen the columns. */
function tableWithWideRows(rows: readonly (readonly string[])[]): string[] {
  const table = textTable(
    rows.map((row) => (row.length === 2 ? [row[0], ""] : row)),
    [0, 1, 4],
  );
  const indent = " ".repeat(String(rows.length).length);
  return table.map((line, index) => (rows[index].length === 2 ? `${indent}${rows[index][1]}` : line));
}
