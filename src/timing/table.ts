import type { GenerationTiming } from "./report.ts";
import { perSecond, sumStages, sumTimings } from "./statistics.ts";
import type { StageTiming, SweepTiming } from "./types.ts";

/** Lines of a table in plain text: the first column aligned left, all others right, two spaces between them. */
export function formatTable(rows: readonly (readonly string[])[]): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join("  ")
      .trimEnd(),
  );
}

/** Load, prefill and decode of one generation: tokens, milliseconds, tokens per second. */
export function timingBlock({ loadMs, prefill, decode }: GenerationTiming): string[] {
  const stage = (name: string, sweeps: readonly SweepTiming[]) => {
    const { rows, ms } = sumStages(sweeps);
    const perToken = rows > 0 ? (ms / rows).toFixed(2) : "";
    return [name, `${rows}`, ms.toFixed(1), perToken, perSecond(rows, ms).toFixed(2)];
  };
  return formatTable([
    ["", "tokens", "ms", "ms/token", "tokens/s"],
    ["load", "", loadMs.toFixed(1)],
    stage("prefill", prefill),
    stage("decode", decode),
  ]);
}

/**
 * What each layer cost in an average sweep: bytes read, milliseconds of reading (beside the computing of what came
 * before), of waiting for its bytes and of arithmetic, and the speed of its reads. No sweeps give no lines.
 */
export function layerTable(sweeps: readonly SweepTiming[]): string[] {
  if (sweeps.length === 0) return [];
  const { embedding, layers, output } = sumStages(sweeps);
  const row = (name: string, { bytes, readMs, waitMs, computeMs }: StageTiming) => [
    name,
    megabytes(bytes / sweeps.length),
    (readMs / sweeps.length).toFixed(2),
    (waitMs / sweeps.length).toFixed(2),
    (computeMs / sweeps.length).toFixed(2),
    bytes > 0 ? perSecond(bytes / 1e6, readMs).toFixed(0) : "-",
  ];
  return formatTable([
    ["layer", "MB", "read ms", "wait ms", "compute ms", "MB/s"],
    row("embedding", embedding),
    ...layers.map((layer, index) => row(`${index}`, layer)),
    row("output", output),
    row("total", sumTimings([embedding, ...layers, output])),
  ]);
}

function megabytes(bytes: number): string {
  const value = bytes / 1e6;
  return value.toFixed(value < 10 ? 3 : 1);
}
