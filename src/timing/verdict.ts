import { formatBytes } from "../format-bytes.ts";
import { type Summable, sumStages, sumTimings } from "./statistics.ts";

/** What the times of a generation are held against. */
export interface Circumstances {
  /** Bytes that each decode sweep reads from disk, and bytes of weights that stay in memory. */
  readonly streamedBytes: number;
  readonly residentBytes: number;
  /** Bytes of further weights that memory has room for. */
  readonly roomBytes: number;
  /** Bytes per second of the disk, and of weights that are in memory through the arithmetic; absent: not measured. */
  readonly disk?: number | undefined;
  readonly arithmetic?: number | undefined;
  /** Whether weights are read past the page cache; absent: not known. */
  readonly direct?: boolean | undefined;
}

export interface Verdict {
  /** What a token waits for: the disk, the system's page cache, or the arithmetic, with or without a disk beside it. */
  readonly bound: "disk" | "page cache" | "compute" | "memory";
  /** In words, with figures. */
  readonly text: string;
  /** What more of memory would bring, where that is anything. */
  readonly gain?: {
    readonly bytes: number;
    readonly savedSeconds: number;
    /** How many times as fast. */
    readonly factor: number;
  };
}

/** Of a sweep's time, waiting beyond this share means that the arithmetic is not what takes it. */
export const STARVED = 0.1;
/** No disk is so much faster than it was measured to be: then it is the page cache. */
export const BEYOND_DISK = 1.5;
/** Gains below this are not worth a word. */
const LEAST_FACTOR = 1.05;

/** What limited the speed of these decode sweeps; undefined where there were none. */
export function judge(sweeps: readonly Summable[], circumstances: Circumstances): Verdict | undefined {
  if (sweeps.length === 0) return undefined;
  const { streamedBytes, disk, direct } = circumstances;
  const { ms, tokens, embedding, layers, output } = sumStages(sweeps);
  const stages = sumTimings([embedding, ...layers, output]);
  const seconds = ms / 1000 / sweeps.length;
  const computing = stages.computeMs / 1000 / sweeps.length;
  const reached = arithmeticText(circumstances, computing);
  if (streamedBytes === 0)
    return {
      bound: "memory",
      text: `the arithmetic sets the speed of generation, for all weights are in memory: ${reached}`,
    };

  const rate = streamedBytes / seconds;
  if (stages.waitMs <= STARVED * ms)
    return {
      bound: "compute",
      text: `the arithmetic sets the speed of generation: ${reached}; reading keeps up`,
    };
  // What is read through the page cache, of a disk that nobody knows, may have come out of either.
  const cached = disk === undefined ? direct === false : rate > BEYOND_DISK * disk;
  const measured = cached ? `${formatBytes(rate)}/s` : rateText(rate, disk);
  // Without waiting, everything else of a sweep is left.
  const gain = gainOf(circumstances, seconds, (ms - stages.waitMs) / 1000 / sweeps.length);
  const advice = gain
    ? `; ${formatBytes(gain.bytes)} more of --ram would save ${secondsText((gain.savedSeconds * sweeps.length) / tokens)} a token`
    : "";
  return {
    bound: cached ? "page cache" : "disk",
    text: `${cached ? "reading through the system's page cache" : "the disk"} sets the speed of generation: ${measured}${advice}`,
    ...(gain && { gain }),
  };
}

/**
 * With more weights in memory there is less to wait for.
 *
 * @param busy seconds of a sweep that are no waiting: they stay
 */
function gainOf({ streamedBytes, roomBytes }: Circumstances, seconds: number, busy: number): Verdict["gain"] {
  const bytes = Math.min(streamedBytes, roomBytes);
  const left = Math.max(busy, seconds * (1 - bytes / streamedBytes));
  const factor = seconds / left;
  return factor >= LEAST_FACTOR ? { bytes, savedSeconds: seconds - left, factor } : undefined;
}

function arithmeticText(
  { streamedBytes, residentBytes, arithmetic }: Circumstances,
  seconds: number,
): string {
  return rateText((streamedBytes + residentBytes) / seconds, arithmetic, " of weights consumed");
}

/** `3.17 GB/s, 96 % of the 3.3 GB/s that were measured`. */
function rateText(rate: number, measured: number | undefined, what = ""): string {
  const reached = `${formatBytes(rate)}/s${what}`;
  if (measured === undefined) return reached;
  return `${reached}, ${percent(rate, measured)} of the ${formatBytes(measured)}/s that were measured`;
}

/** A share in whole percents. Measurements differ by a little, so that more than all of it may come out. */
export function percent(rate: number, of: number): string {
  return `${Math.min(100, Math.round((100 * rate) / of))} %`;
}

function secondsText(seconds: number): string {
  return seconds < 0.01 ? `${(seconds * 1000).toFixed(1)} ms` : `${seconds.toFixed(2)} s`;
}
