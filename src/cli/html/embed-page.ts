import { escapeHtml, heat, htmlPage } from "./page.ts";

/** What `sluice embed --json` prints, and what the page draws. */
export interface EmbedReport {
  readonly model: {
    readonly name: string;
    readonly architecture: string;
    readonly layers: number;
    readonly dtype: string;
    readonly cache: string;
  };
  readonly width: number;
  readonly texts: readonly {
    readonly text: string;
    readonly ids: readonly number[];
    readonly pieces: readonly string[];
    readonly norm: number;
    readonly nearest: readonly {
      readonly id: number;
      readonly piece: string;
      readonly cosine: number;
      readonly dot: number;
    }[];
  }[];
  readonly dot: readonly (readonly number[])[];
  readonly cosine: readonly (readonly number[])[];
  readonly projection: {
    readonly shares: readonly number[];
    /** The texts in order, then the nearest tokens. */
    readonly points: readonly { readonly label: string; readonly x: number; readonly y: number }[];
  };
}

const WIDTH = 720;
const HEIGHT = 460;
const MARGIN = 40;
/** Room for a label at the right. */
const LABEL = 110;
/** Of a label: width of a character, about, and height. */
const CHARACTER = 7;
const LINE = 13;

/** Similarity as a heat map, the plane of the two largest principal components, and the nearest tokens. */
export function embedPage(report: EmbedReport): string {
  const { model, texts, width, projection } = report;
  const shares = projection.shares.map((share) => `${(share * 100).toFixed(0)} %`).join(" and ");
  return htmlPage({
    title: `Embeddings: ${model.name}`,
    style: STYLE,
    body: `<p>Token embeddings of ${escapeHtml(model.name)} (${escapeHtml(model.dtype)}), vectors of ${width} values. A text of several tokens is the mean of theirs.</p>
<h2>Cosine similarity</h2>
<div class="scroll" tabindex="0">${matrix(report, report.cosine, "1 is the same direction, 0 a right angle", 3, true)}</div>
<h2>Dot products</h2>
<div class="scroll" tabindex="0">${matrix(report, report.dot, "cosine times both lengths", 4, false)}</div>
<h2>In the plane</h2>
<p class="dim">The two directions in which these vectors differ most show ${shares} of their variance. Dots are the texts, rings the tokens nearest to them.</p>
<div class="scroll" tabindex="0">${scatter(report)}</div>
<h2>Nearest tokens</h2>
<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">text</th><th scope="col">tokens of the vocabulary, cosine</th></tr></thead><tbody>
${texts
  .map(
    ({ text, nearest }) =>
      `<tr><th scope="row">${escapeHtml(text)}</th><td>${nearest
        .map(({ piece, cosine }) => `${escapeHtml(piece)} <small class="dim">${cosine.toFixed(3)}</small>`)
        .join(" &nbsp; ")}</td></tr>`,
  )
  .join("\n")}
</tbody></table></div>`,
  });
}

function matrix(
  { texts }: EmbedReport,
  values: readonly (readonly number[])[],
  caption: string,
  digits: number,
  coloured: boolean,
): string {
  const heads = texts.map(({ text }) => `<th scope="col">${escapeHtml(text)}</th>`).join("");
  const rows = texts.map(({ text }, row) => {
    const cells = values[row].map((value) => {
      return `<td${coloured ? ` ${heat(value)}` : ""}>${value.toFixed(digits)}</td>`;
    });
    return `<tr><th scope="row">${escapeHtml(text)}</th>${cells.join("")}</tr>`;
  });
  return `<table><caption>${caption}</caption><thead><tr><td></td>${heads}</tr></thead><tbody>
${rows.join("\n")}
</tbody></table>`;
}

/** One scale for both axes, so that distances are what they look like. */
function scatter({ texts, projection }: EmbedReport): string {
  const { points } = projection;
  const span = (of: (point: (typeof points)[number]) => number) => {
    const values = points.map(of);
    return { least: Math.min(...values), most: Math.max(...values) };
  };
  const [x, y] = [span((point) => point.x), span((point) => point.y)];
  const perUnit = Math.min(
    (WIDTH - 2 * MARGIN - LABEL) / (x.most - x.least || 1),
    (HEIGHT - 2 * MARGIN) / (y.most - y.least || 1),
  );
  const free = labelPlacer();
  const marks = points.map((point, index) => {
    const left = MARGIN + (point.x - x.least) * perUnit;
    const top = MARGIN + (y.most - point.y) * perUnit;
    const kind = index < texts.length ? "text" : "token";
    const label = escapeHtml(point.label.trim() || point.label);
    const below = free(left + 9, top, point.label.length);
    return `<g class="${kind}" transform="translate(${left.toFixed(1)} ${top.toFixed(1)})"><title>${label}</title><circle r="${kind === "text" ? 6 : 4}"/><text x="9" y="${4 + below}">${label}</text></g>`;
  });
  // Texts last, over the tokens around them.
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="Texts and their nearest tokens in a plane; the tables have the numbers">${marks.reverse().join("")}</svg>`;
}

/** How far below its point a label has to go, so that it lies on none that was placed before. */
function labelPlacer(): (left: number, top: number, characters: number) => number {
  const placed: { left: number; right: number; top: number }[] = [];
  return (left, top, characters) => {
    const right = left + characters * CHARACTER;
    const isFree = (at: number) =>
      placed.every((other) => {
        return Math.abs(other.top - at) >= LINE || other.right < left || other.left > right;
      });
    const steps = Array.from({ length: 12 }, (_, step) => (step % 2 ? 1 : -1) * Math.ceil(step / 2) * LINE);
    const below = steps.find((step) => isFree(top + step)) ?? 0;
    placed.push({ left, right, top: top + below });
    return below;
  };
}

const STYLE = `
svg { max-width: 100%; min-width: 40rem; height: auto; border: 1px solid var(--line); border-radius: 6px; font: 12px system-ui, sans-serif; }
svg text { fill: var(--dim); white-space: pre; } svg .token circle { fill: none; stroke: var(--dim); stroke-width: 1.5; }
svg .text circle { fill: var(--hot); } svg .text text { fill: var(--ink); font-weight: 600; }
`;
