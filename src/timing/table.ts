import type { GenerationTiming } from "./report.ts";
import { perSecond, type Summable, sumStages, sumTimings } from "./statistics.ts";
import type { StageTiming } from "./types.ts";
import { BEYOND_DISK, percent } from "./verdict.ts";

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

/** Load, prefill and decode of one generation: tokens, milliseconds, tokens per second; what the prompt cache gave. */
export function timingBlock({ loadMs, recalled = 0, prefill, decode }: GenerationTiming): string[] {
  const stage = (name: string, sweeps: readonly Summable[]) => {
    const { tokens, ms: sweepMs, guessMs } = sumStages(sweeps);
    const ms = sweepMs + guessMs;
    const perToken = tokens > 0 ? (ms / tokens).toFixed(2) : "";
    return [name, `${tokens}`, ms.toFixed(1), perToken, perSecond(tokens, ms).toFixed(2)];
  };
  const table = formatTable([
    ["", "tokens", "ms", "ms/token", "tokens/s"],
    ["load", "", loadMs.toFixed(1)],
    ...(recalled > 0 ? [["recalled", `${recalled}`]] : []),
    stage("prefill", prefill),
    stage("decode", decode),
  ]);
  return [...table, ...guessLines(decode)];
}

/** What guessing brought, where something was guessed: in one line. */
export function guessLines(decode: readonly Summable[]): string[] {
  const { sweeps, tokens, guessed, held, guessMs } = sumStages(decode);
  if (guessed === 0) return [];
  const rate = (tokens / sweeps).toFixed(2);
  return [
    `drafts: ${guessed} token${guessed === 1 ? "" : "s"} guessed in ${guessMs.toFixed(1)} ms, ${held} held (${percent(held, guessed)}): ${rate} tokens a sweep`,
  ];
}

/** What disk and threads were measured to reach, in bytes per second, and the weights that a stage computes with. */
export interface Reachable {
  readonly disk?: number | undefined;
  readonly arithmetic: number;
  /** Bytes of each layer's weights, and of the output's. */
  readonly weights: readonly number[];
}

/**
 * What each layer cost in an average sweep: bytes read, milliseconds of reading (beside the computing of what came
 * before), of waiting for its bytes and of arithmetic, and the speed of its reads. No sweeps give no lines.
 *
 * @param reachable for two more columns, of decode sweeps: how much of these speeds was reached
 */
export function layerTable(sweeps: readonly Summable[], reachable?: Reachable): string[] {
  if (sweeps.length === 0) return [];
  const { embedding, layers, output } = sumStages(sweeps);
  const row = (name: string, { bytes, readMs, waitMs, computeMs }: StageTiming, weights = 0) => {
    const readRate = perSecond(bytes, readMs);
    const computeRate = perSecond(weights * sweeps.length, computeMs);
    return [
      name,
      megabytes(bytes / sweeps.length),
      (readMs / sweeps.length).toFixed(2),
      (waitMs / sweeps.length).toFixed(2),
      (computeMs / sweeps.length).toFixed(2),
      bytes > 0 ? (readRate / 1e6).toFixed(0) : "-",
      ...(reachable === undefined
        ? []
        : [
            bytes > 0 && reachable.disk !== undefined ? ofDisk(readRate, reachable.disk) : "-",
            computeRate > 0 ? percent(computeRate, reachable.arithmetic) : "-",
          ]),
    ];
  };
  const weights = reachable?.weights ?? [];
  return formatTable([
    [
      ...["layer", "MB", "read ms", "wait ms", "compute ms", "MB/s"],
      ...(reachable === undefined ? [] : ["of disk", "of memory"]),
    ],
    row("embedding", embedding),
    ...layers.map((layer, index) => row(`${index}`, layer, weights[index])),
    row("output", output, weights[layers.length]),
    row(
      "total",
      sumTimings([embedding, ...layers, output]),
      weights.reduce((sum, bytes) => sum + bytes, 0),
    ),
  ]);
}

/** What no disk brings has come out of the page cache. */
function ofDisk(rate: number, disk: number): string {
  return rate > BEYOND_DISK * disk ? "cached" : percent(rate, disk);
}

function megabytes(bytes: number): string {
  const value = bytes / 1e6;
  return value.toFixed(value < 10 ? 3 : 1);
}
