/** Unpacking: what was done for each file of the unpacked model. */
import { formatBytes } from "../../format-bytes.ts";
import { unpackBreakdown } from "../breakdown.ts";
import type { RecordedFile, RecordedUnpack } from "../recording.ts";
import { formatMs } from "../units.ts";
import { type Bar, barChart, reachOf } from "./bars.ts";
import { tickCount, wholeTicks } from "./scale.ts";
import type { Report, Section } from "./section.ts";

export function unpackSection({ recordings }: Report): Section {
  const all = recordings.flatMap(({ unpack }) => unpack?.files ?? []);
  return {
    id: "unpack",
    title: "Unpacking",
    text: "For each file of the unpacked model: reading the GGUF file, dequantizing, encoding into panels, writing. Writing goes on in the background while the next file is made, so a bar may be higher than the time that its file took.",
    panel: ({ unpack, spans }) => {
      const files = unpack?.files ?? [];
      if (files.length === 0) return "The model was unpacked already.";
      const sum = (part: (file: RecordedFile) => number) =>
        files.reduce((total, file) => total + part(file), 0);
      return {
        chart: barChart({
          label: "Unpacking, stages of each file",
          idle: `${files.length} files, ${formatBytes(sum((file) => file.stored))}, in ${formatMs(unpackBreakdown({ unpack, spans })!.ms)}: reading ${formatMs(sum((file) => file.readMs))}, dequantizing ${formatMs(sum((file) => file.dequantizeMs))}, encoding ${formatMs(sum((file) => file.encodeMs))}, writing ${formatMs(sum((file) => file.writeMs))}${restText(unpack)}.`,
          bars: files.map(barOf),
          first: 1,
          xTitle: "file, in the order of writing",
          xTicks: wholeTicks(tickCount()),
          reach: reachOf(all.map(barOf)),
          textOf: (index) => fileText(files[index]),
        }),
        legend: [
          { ink: "read", text: "reading" },
          { ink: "dequantize", text: "dequantizing" },
          { ink: "encode", text: "encoding" },
          { ink: "write", text: "writing" },
        ],
        tables: [
          {
            caption: "unpacking, file by file",
            columns: [
              { name: "file" },
              { name: "MB", places: 1 },
              { name: "MB stored", places: 1 },
              { name: "ms", places: 1 },
              { name: "read ms", places: 1 },
              { name: "dequantize ms", places: 1 },
              { name: "encode ms", places: 1 },
              { name: "write ms", places: 1 },
            ],
            rows: () =>
              files.map((file) => [
                file.name,
                file.bytes / 1e6,
                file.stored / 1e6,
                file.ms,
                file.readMs,
                file.dequantizeMs,
                file.encodeMs,
                file.writeMs,
              ]),
          },
          {
            caption: "unpacking, stage by stage",
            columns: [{ name: "stage" }, { name: "ms", places: 1 }],
            rows: () => {
              const { parts, ms } = unpackBreakdown({ unpack, spans })!;
              return [...parts, ["total", ms]];
            },
          },
          {
            caption: "unpacking, tensor by tensor",
            columns: [
              { name: "tensor" },
              { name: "MB", places: 3 },
              { name: "read ms" },
              { name: "dequantize ms" },
              { name: "encode ms" },
            ],
            rows: () =>
              files.flatMap(({ tensors }) =>
                tensors.map(({ name, bytes, readMs, dequantizeMs, encodeMs }) => [
                  name,
                  bytes / 1e6,
                  readMs,
                  dequantizeMs,
                  encodeMs,
                ]),
              ),
          },
        ],
      };
    },
  };
}

function barOf({ readMs, dequantizeMs, encodeMs, writeMs }: RecordedFile): Bar {
  return {
    up: [
      { ink: "read", ms: readMs },
      { ink: "dequantize", ms: dequantizeMs },
      { ink: "encode", ms: encodeMs },
      { ink: "write", ms: writeMs },
    ],
  };
}

/** What was done before the first file and after the last. */
function restText({ prepareMs, finishMs }: Partial<RecordedUnpack> = {}): string {
  const before = prepareMs === undefined ? "" : `; preparing before them ${formatMs(prepareMs)}`;
  return finishMs === undefined ? before : `${before}; finishing after them ${formatMs(finishMs)}`;
}

function fileText({ name, stored, ms, readMs, dequantizeMs, encodeMs, writeMs }: RecordedFile): string {
  return `${name}, ${formatBytes(stored)} in ${formatMs(ms)}: reading ${formatMs(readMs)}, dequantizing ${formatMs(dequantizeMs)}, encoding ${formatMs(encodeMs)}, writing ${formatMs(writeMs)}.`;
}
