/** The whole run: what was done when, and how long it took in all. */
import type { Span, SpanName } from "../recording.ts";
import { perSecond } from "../statistics.ts";
import { formatMs, formatShare, threeDigits } from "../units.ts";
import { lanesChart } from "./lanes.ts";
import { capital } from "./layers-section.ts";
import type { Section } from "./section.ts";

const ORDER: readonly SpanName[] = [
  "unpack",
  "load",
  "template",
  "tokenize",
  "prefill",
  "guess",
  "decode",
  "sample",
];

export function runSection(): Section {
  return {
    id: "run",
    title: "The whole run",
    text: "What was done, from beginning to end. What no bar covers is the program’s own time: starting, printing, waiting for somebody to type.",
    panel: ({ command, spans, ms }) => {
      const rows = ORDER.map((name) => ({ name, spans: spans.filter((span) => span.name === name) })).filter(
        (row) => row.spans.length > 0,
      );
      if (rows.length === 0) return `Nothing of the ${formatMs(ms)} was recorded by name.`;
      const sums = rows.map(({ name, spans }) => ({ name, count: spans.length, ...sumsOf(spans) }));
      const covered = sums.reduce((total, sum) => total + sum.ms, 0);
      const longest = [...sums].sort((one, other) => other.ms - one.ms).slice(0, 3);
      return {
        chart: lanesChart({
          label: "What was done when; up and down for kinds of work, left and right for its turns",
          idle: `${formatMs(ms)} in all: ${longest.map((sum) => `${sum.name} ${formatMs(sum.ms)} (${formatShare(sum.ms / ms)})`).join(", ")}.${command === "bench" ? " Warming up is in it." : ""}`,
          rows: rows.map(({ name, spans }) => ({
            name,
            blocks: spans.map((span) => ({
              ink: "span",
              startMs: span.startMs,
              ms: span.ms,
              text: spanText(span),
            })),
          })),
          fromMs: 0,
          toMs: ms,
          xTitle: "since the beginning",
          laneHeight: 24,
        }),
        tables: [
          {
            caption: "what was done, in all",
            columns: [
              { name: "what" },
              { name: "times", places: 0 },
              { name: "ms" },
              { name: "% of the run" },
              { name: "tokens", places: 0 },
              { name: "tokens/s" },
            ],
            rows: () => [
              ...sums.map(({ name, count, ms: took, tokens }) => [
                name,
                count,
                took,
                (100 * took) / ms,
                tokens || undefined,
                tokens ? perSecond(tokens, took) : undefined,
              ]),
              [
                "the program’s own",
                undefined,
                ms - covered,
                (100 * (ms - covered)) / ms,
                undefined,
                undefined,
              ],
            ],
          },
        ],
      };
    },
  };
}

function sumsOf(spans: readonly Span[]): { ms: number; tokens: number } {
  return {
    ms: spans.reduce((total, span) => total + span.ms, 0),
    tokens: spans.reduce((total, span) => total + (span.tokens ?? 0), 0),
  };
}

function spanText({ name, startMs, ms, tokens }: Span): string {
  const speed = tokens ? `, ${tokens} tokens, ${threeDigits(perSecond(tokens, ms))} tokens/s` : "";
  return `${capital(name)}: from ${formatMs(startMs)} on, for ${formatMs(ms)}${speed}.`;
}
