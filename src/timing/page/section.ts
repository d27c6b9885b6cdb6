/** A part of the page: heading, what is to be seen, controls, and for each recording its chart and tables. */
import type { CondensedRecording } from "../condense.ts";
import { type Chart, mountChart } from "./chart.ts";
import { type DataTable, dataTable } from "./data-table.ts";
import { el } from "./dom.ts";
import { type LegendEntry, legend } from "./legend.ts";

export interface Panel {
  readonly chart: Chart;
  readonly legend?: readonly LegendEntry[];
  /** Further elements below the legend. */
  readonly extra?: readonly HTMLElement[];
  readonly tables: readonly DataTable[];
}

export interface Section {
  readonly id: string;
  readonly title: string;
  /** What the chart shows and how to read it. */
  readonly text: string;
  readonly controls?: (redraw: () => void) => readonly HTMLElement[];
  /** A chart, or why there is none. */
  readonly panel: (recording: CondensedRecording) => Panel | string;
}

export interface Report {
  readonly labels: readonly string[];
  readonly recordings: readonly CondensedRecording[];
}

export function addSection(page: HTMLElement, { labels, recordings }: Report, section: Section): void {
  const panels = el("div", { class: "pair" });
  let dispose: (() => void)[] = [];
  const draw = () => {
    for (const end of dispose) end();
    panels.replaceChildren();
    dispose = recordings.flatMap((recording, index) => {
      const host = el("div", { class: "panel" });
      if (labels[index]) host.append(el("h3", {}, labels[index]));
      panels.append(host);
      const panel = section.panel(recording);
      if (typeof panel === "string") {
        host.append(el("p", { class: "note" }, panel));
        return [];
      }
      const below = [...(panel.legend ? [legend(panel.legend)] : []), ...(panel.extra ?? [])];
      const end = mountChart(host, labels[index] ? named(panel.chart, labels[index]) : panel.chart, below);
      host.append(...panel.tables.map(dataTable));
      return [end];
    });
  };
  const controls = section.controls?.(draw) ?? [];
  page.append(
    el(
      "section",
      { class: "card", id: section.id, "aria-labelledby": `${section.id}-title` },
      el("h2", { id: `${section.id}-title` }, section.title),
      el("p", { class: "text" }, section.text),
      ...(controls.length > 0 ? [el("div", { class: "controls" }, ...controls)] : []),
      panels,
    ),
  );
  draw();
}

function named(chart: Chart, label: string): Chart {
  return { ...chart, label: `${label}: ${chart.label}` };
}
