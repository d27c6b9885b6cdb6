import { embeddedJson, escapeHtml, heat, htmlPage } from "./page.ts";

/** What `sluice lens --json` prints, and what the page draws. */
export interface LensReport {
  readonly model: {
    readonly name: string;
    readonly architecture: string;
    readonly layers: number;
    readonly dtype: string;
    readonly cache: string;
  };
  readonly text: string;
  readonly positions: readonly {
    readonly position: number;
    readonly id: number;
    readonly piece: string;
    /** What the model would say next: after the embedding, then after each layer; the most probable token first. */
    readonly stages: readonly (readonly {
      readonly id: number;
      readonly piece: string;
      readonly probability: number;
    }[])[];
  }[];
}

/** A heat map: a row for each layer, a column for each position, in each cell the most probable next token. */
export function lensPage(report: LensReport): string {
  const { model, positions } = report;
  const stages = positions[0].stages.length;
  const rows = Array.from({ length: stages }, (_, row) => {
    const stage = stages - 1 - row;
    const cells = positions.map(({ stages }, column) => {
      const [best] = stages[stage];
      const tabindex = row === 0 && column === positions.length - 1 ? 0 : -1;
      const label = `${escapeHtml(best.piece)}<small> ${percent(best.probability)}</small>`;
      return `<td ${heat(best.probability)} tabindex="${tabindex}">${label}</td>`;
    });
    return `<tr><th scope="row">${stage === 0 ? "embedding" : `layer ${stage - 1}`}</th>${cells.join("")}</tr>`;
  });
  const heads = positions.map(
    ({ position, piece }) =>
      `<th scope="col"><small class="dim">${position}</small> ${escapeHtml(piece)}</th>`,
  );
  return htmlPage({
    title: `Logit lens: ${model.name}`,
    style: STYLE,
    script: SCRIPT,
    body: `<p>What the model would say next after each of its ${model.layers} layers, at ${positions.length === 1 ? "one position" : `${positions.length} positions`} of the text: its last norm and output matrix, applied to what every layer leaves. The top row is what it does say. The warmer a cell, the more probable its token.</p>
<output id="detail" aria-live="polite">Point at a cell, or move among them with the arrow keys, to see more tokens.</output>
<div class="scroll"><table id="lens">
<caption>${escapeHtml(model.name)} · ${escapeHtml(model.architecture)} · ${escapeHtml(model.dtype)}</caption>
<thead><tr><th scope="col">after</th>${heads.join("")}</tr></thead>
<tbody>
${rows.join("\n")}
</tbody></table></div>
${embeddedJson("data", positions)}`,
  });
}

function percent(probability: number): string {
  return `${(probability * 100).toFixed(probability < 0.0995 ? 1 : 0)}%`;
}

const STYLE = `
#detail { display: block; min-height: 3.2em; padding: .5rem .7rem; border: 1px solid var(--line); border-radius: 6px; position: sticky; top: 0; background: var(--paper); z-index: 2; white-space: pre-wrap; }
#lens td { cursor: default; } #lens small { opacity: .75; }
`;

// Texts of the model are only ever set as text.
const SCRIPT = `
const data = JSON.parse(document.getElementById("data").textContent);
const detail = document.getElementById("detail");
const body = document.querySelector("#lens tbody");
const cell = (row, column) => body.rows[row]?.cells[column + 1];
function show(td) {
  const row = td.parentElement.rowIndex - 1, column = td.cellIndex - 1;
  const at = data[column], stage = body.rows.length - 1 - row;
  const best = at.stages[stage].map((t) => JSON.stringify(t.piece) + " " + (t.probability * 100).toFixed(2) + " %");
  detail.textContent = "After " + JSON.stringify(at.piece) + ", " + (stage === 0 ? "embedding" : "layer " + (stage - 1)) + ": " + best.join(",  ");
}
const target = (event) => event.target.closest("#lens td");
body.addEventListener("pointerover", (event) => { const td = target(event); if (td) show(td); });
body.addEventListener("focusin", (event) => { const td = target(event); if (td) show(td); });
body.addEventListener("keydown", (event) => {
  const td = target(event);
  if (!td) return;
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  const next = step && cell(td.parentElement.rowIndex - 1 + step[0], td.cellIndex - 1 + step[1]);
  if (!next || next.tagName !== "TD") return;
  event.preventDefault();
  td.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});
`;
