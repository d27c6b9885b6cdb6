/** The script of a report: the recordings that the page carries, as charts. */
import "uplot/dist/uPlot.min.css";
import "./page.css";
import { diskSection } from "./disk-section.ts";
import { heatSection } from "./heat-section.ts";
import { layersSection } from "./layers-section.ts";
import { memorySection } from "./memory-section.ts";
import { runSection } from "./run-section.ts";
import { addSection, type Report } from "./section.ts";
import { timelineSection } from "./timeline-section.ts";
import { unpackSection } from "./unpack-section.ts";

const report: Report = JSON.parse(document.getElementById("recordings")!.textContent!);
const page = document.getElementById("charts")!;
const { recordings } = report;
const swept = recordings.some(({ sweeps }) => sweeps.length > 0);

page.classList.toggle("compared", recordings.length > 1);
page.classList.toggle("unswept", !swept);
if (swept) addSection(page, report, layersSection(report));
if (swept) addSection(page, report, heatSection(report));
if (recordings.some(({ timelines }) => timelines.length > 0))
  addSection(page, report, timelineSection(report));
if (swept) addSection(page, report, diskSection(report));
addSection(page, report, memorySection(report));
if (recordings.some(({ unpack }) => unpack?.files.length)) addSection(page, report, unpackSection(report));
addSection(page, report, runSection());
page.dataset["ready"] = "yes";
