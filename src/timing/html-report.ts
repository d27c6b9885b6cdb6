/** The report: one HTML file that needs nothing else, with the recording in it. docs/timing.md */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { formatBytes } from "../format-bytes.ts";
import { type Advice, advise, verdictSentence } from "./advice.ts";
import { comparison } from "./comparison.ts";
import { type CondensedRecording, condense } from "./condense.ts";
import { handoverSentence } from "./handover.ts";
import { Html, html, scriptJson } from "./html.ts";
import { longestWork } from "./longest-work.ts";
import type { Recording } from "./recording.ts";
import { keyFigures, reportLabels, summaryRows } from "./report-summary.ts";
import { tieUnits } from "./units.ts";

/** Where the build puts the page's script (with uPlot in it) and style. */
const PAGE = new URL("page/", import.meta.url);

/**
 * Make a report of one recording, or of two side by side. The file works from disk and asks nothing of the network:
 * its policy (CSP) lets nothing run but the script that is in it.
 *
 * @param recordings one or two; of long runs the sweeps are added up in groups, so that the file stays below 5 MB
 */
export function htmlReport(recordings: readonly Recording[]): string {
  const condensed = recordings.map((recording) => condense(recording, recordings.length));
  const labels = reportLabels(condensed);
  const script = readFileSync(new URL("page.js", PAGE), "utf8");
  const style = readFileSync(new URL("page.css", PAGE), "utf8");
  const policy = `default-src 'none'; script-src '${hashOf(script)}'; style-src '${hashOf(style)}'; base-uri 'none'; form-action 'none'`;
  const names = [
    ...new Set(condensed.map(({ model, unpack, command }) => (model ?? unpack?.model)?.name ?? command)),
  ];
  const title = `Timing of ${names.join(" and ")}`;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – sluice</title>
<style>${new Html(style)}</style>
</head>
<body>
<header class="top">
<p class="brand">sluice timing report</p>
<h1><bdi>${names.join(" · ")}</bdi></h1>
<p class="meta">${condensed.map((recording, index) => whenAndWhere(recording, labels[index]))}</p>
</header>
<main>
${condensed.length > 1 && html`<p class="verdict-line">${tieUnits(comparison(condensed, labels))}</p>`}
<div class="pair">${condensed.map((recording, index) => verdictCard(recording, labels[index], recordings[index]))}</div>
${summaryTable(condensed, labels)}
<noscript><p class="note">The charts and their tables are drawn by the script in this file, which is not allowed to run here.</p></noscript>
<div id="charts"></div>
</main>
<footer><p>A <i>sweep</i> is one pass through all layers, for a token or a batch of a prompt; the <i>ring</i> is the little memory that weights pass through; <i>hand-over</i> is starting or waking the threads, and getting their result back; the <i>page cache</i> is the memory in which the system keeps parts of files.</p>
<p>Made by sluice ${condensed[0]?.sluice}. Charts by uPlot, © Leon Sorokin, MIT licence (its text is in this file). Everything shown comes from the recording, which this file carries as JSON; nothing is loaded from elsewhere.</p></footer>
<script type="application/json" id="recordings">${scriptJson({ labels, recordings: condensed })}</script>
<script>${new Html(script)}</script>
</body>
</html>
`;
  return page.markup;
}

function whenAndWhere({ command, began, machine, model, unpack }: CondensedRecording, label: string): Html {
  const moment = began.replace("T", " ").replace(/(:\d\d)(\.\d+)?Z$/, "$1 UTC");
  const made = unpack?.model;
  const weights = model
    ? `${model.layers} layers, ${model.dtype}, ${formatBytes(model.streamedBytes)} read for a token, ${formatBytes(model.residentBytes)} kept in memory. `
    : made && `${made.layers} layers, unpacked as ${made.dtype}. `;
  return html`<span>${label && html`<b>${label}</b> `}${weights}<code>sluice ${command}</code> on ${machine.cpu}, <time datetime="${began}">${moment}</time></span> `;
}

/** @param sweeps of the recording, each by itself */
function verdictCard(recording: CondensedRecording, label: string, { sweeps }: Recording): Html {
  const advice = advise(recording);
  const handover = handoverSentence(sweeps);
  const longest = longestWork(recording);
  return html`<section class="card verdict" data-bound="${recording.verdict?.bound ?? "none"}">
<div>
<h2>${label ? html`${label}: verdict` : "Verdict"}</h2>
${longest && html`<p>${tieUnits(longest)}</p>`}
<p class="lead">${tieUnits(verdictSentence(recording))}</p>
${handover && html`<p>${tieUnits(handover)}</p>`}
${adviceList(
  "What would help",
  advice.filter(({ vain }) => !vain),
)}
${adviceList(
  "What would not help",
  advice.filter(({ vain }) => vain),
)}
</div>
<dl class="figures">${keyFigures(recording).map(
    ({ name, value, unit, raw, note }) =>
      html`<div><dt>${name}</dt><dd><data value="${raw}">${value}</data> <span class="unit">${unit}</span>${note && html`<small>${tieUnits(note)}</small>`}</dd></div>`,
  )}</dl>
</section>`;
}

function adviceList(title: string, advice: readonly Advice[]): Html | false {
  return (
    advice.length > 0 &&
    html`<h3>${title}</h3>
<ul class="advice">${advice.map(({ what, effect }) => html`<li><b>${what}</b>: ${tieUnits(effect)}</li>`)}</ul>`
  );
}

function summaryTable(recordings: readonly CondensedRecording[], labels: readonly string[]): Html {
  const columns = recordings.map(summaryRows);
  const names = [...new Set(columns.flatMap((rows) => rows.map(({ name }) => name)))];
  const cell = (rows: ReturnType<typeof summaryRows>, name: string) => {
    const row = rows.find((one) => one.name === name);
    if (row === undefined) return html`<td>–</td>`;
    return html`<td>${row.raw === undefined ? html`<bdi>${row.text}</bdi>` : html`<data value="${row.raw}">${row.text}</data>`}</td>`;
  };
  return html`<details class="card summary"><summary><h2>Model, machine and speed</h2></summary>
<div class="scroll" tabindex="0" role="region" aria-label="Model, machine and speed">
<table class="facts">
${labels.length > 1 && html`<thead><tr><td></td>${labels.map((label) => html`<th scope="col">${label}</th>`)}</tr></thead>`}
<tbody>${names.map((name) => html`<tr><th scope="row">${name}</th>${columns.map((rows) => cell(rows, name))}</tr>`)}</tbody>
</table>
</div>
</details>`;
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
