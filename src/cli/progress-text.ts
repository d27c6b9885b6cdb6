import type { GenerateProgress } from "../engine/types.ts";
import { formatDuration } from "./progress-bars.ts";

/** What is known of a generation besides where it stands. */
export interface Pace {
  /** Milliseconds since the prefill began; in decode, per token (0: not known yet). */
  readonly ms: number;
  /** Tokens that were decoded, and how many there can be. */
  readonly tokens?: number;
  readonly limit?: number;
}

const BAR_COLUMNS = 20;
/** Nothing is foretold from less of a prefill than this. */
const LEAST_FRACTION = 0.02;

/** Where a generation stands, in words; a long form, then shorter ones for narrow places. */
export function progressTexts(progress: GenerateProgress, pace: Pace): string[] {
  const { phase, layer, layers } = progress;
  const at = `layer ${Math.min(layer, layers)}/${layers}`;
  return [...(phase === "prefill" ? prefillTexts(progress, at, pace.ms) : decodeTexts(at, pace)), at];
}

function prefillTexts(progress: GenerateProgress, at: string, ms: number): string[] {
  const { layer, layers, rowsDone, rowsInSweep, rowsTotal } = progress;
  const done = (rowsDone + (rowsInSweep * Math.min(layer, layers)) / layers) / rowsTotal;
  const tokens =
    rowsInSweep < rowsTotal
      ? `tokens ${rowsDone + 1}-${rowsDone + rowsInSweep} of ${rowsTotal}`
      : `${rowsTotal} ${rowsTotal === 1 ? "token" : "tokens"}`;
  const left = done < LEAST_FRACTION ? "" : ` · ${formatDuration((ms * (1 - done)) / done / 1000)} left`;
  const percent = `${Math.floor(done * 100)}%`;
  return [
    `prefill ${bar(done)} ${percent} · ${tokens} · ${at}${left}`,
    `prefill ${percent} · ${tokens} · ${at}${left}`,
    `prefill ${percent} · ${at}${left}`,
    `prefill ${at}`,
  ];
}

function decodeTexts(at: string, { ms, tokens = 0, limit = Infinity }: Pace): string[] {
  if (ms <= 0) return [];
  const pace = `${at} · ${seconds(ms)}/token`;
  if (!Number.isFinite(limit)) return [pace];
  const left = formatDuration(((limit - tokens) * ms) / 1000);
  return [
    `${pace} · token ${tokens + 1}, at most ${limit} · ${left} left at most`,
    `${pace} · ${left} left at most`,
    pace,
  ];
}

/** A share as a bar. */
export function bar(fraction: number): string {
  const full = Math.round(fraction * BAR_COLUMNS);
  return "█".repeat(full) + "░".repeat(BAR_COLUMNS - full);
}

function seconds(ms: number): string {
  return ms < 9950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}
