/** Memory of the process over time, against its peak. */
import { formatBytes } from "../../format-bytes.ts";
import { formatMs } from "../units.ts";
import { levelChart } from "./level.ts";
import type { Report, Section } from "./section.ts";

export function memorySection({ recordings }: Report): Section {
  return {
    id: "memory",
    title: "Memory",
    text: "What the whole process holds in memory (resident set), and the most that it held at any moment.",
    panel: ({ memory, peakRssBytes, model, ms }) => {
      if (memory.length === 0)
        return `The peak was ${formatBytes(peakRssBytes)}; its course was not recorded.`;
      const weights = model?.residentBytes ? `${formatBytes(model.residentBytes)} of weights and ` : "";
      const parts = model ? ` In it: ${weights}a ring of ${formatBytes(model.ringBytes)}.` : "";
      return {
        chart: levelChart({
          label: "Memory of the process over time",
          idle: `Peak ${formatBytes(peakRssBytes)}.${parts}`,
          levels: memory.map(({ atMs, rssBytes }, index) => ({
            fromMs: atMs,
            toMs: memory[index + 1]?.atMs ?? Math.max(ms, atMs),
            value: rssBytes,
            ink: "span",
            text: `At ${formatMs(atMs)}: ${formatBytes(rssBytes)}.`,
          })),
          limit: { value: peakRssBytes, text: `peak: ${formatBytes(peakRssBytes)}` },
          reach: Math.max(...recordings.map((recording) => recording.peakRssBytes)),
          per: "",
        }),
        tables: [
          {
            caption: "memory over time",
            columns: [
              { name: "at ms", places: 0 },
              { name: "MB", places: 1 },
            ],
            rows: () => memory.map(({ atMs, rssBytes }) => [atMs, rssBytes / 1e6]),
          },
        ],
      };
    },
  };
}
