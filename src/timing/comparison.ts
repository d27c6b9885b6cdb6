/** Two recordings held against each other, in a sentence. */
import { formatBytes } from "../format-bytes.ts";
import { unpackBreakdown } from "./breakdown.ts";
import { type CondensedRecording, sumSweeps, sweepsOf } from "./condense.ts";
import { type Speed, speedOf } from "./facts.ts";
import type { RecordedSweep, Recording } from "./recording.ts";
import { formatMs, threeDigits } from "./units.ts";

/** Speeds closer than this are the same: runs differ by so much. */
const SAME = 0.02;
/** Of the layers, so many that differ mean all of them. */
const THROUGHOUT = 0.75;

type Kind = RecordedSweep["kind"];

/** Whether there is anything that both recordings did: decode or prefill sweeps, or an unpack. */
export function haveCommon(one: Recording, other: Recording): boolean {
  const kinds = ({ sweeps, unpack }: Recording) => [
    ...sweeps.map(({ kind }) => kind),
    ...(unpack === undefined ? [] : ["unpack"]),
  ];
  const ofOther = new Set<string>(kinds(other));
  return kinds(one).some((kind) => ofOther.has(kind));
}

/**
 * How much faster or slower the last recording is than the first.
 *
 * @param labels what they are called, in their order
 */
export function comparison(recordings: readonly CondensedRecording[], labels: readonly string[]): string {
  const [before, after] = [recordings[0], recordings[recordings.length - 1]];
  const [first, last] = [labels[0], labels[labels.length - 1]];
  const kind = (["decode", "prefill"] as const).find((one) => speedOf(before, one) && speedOf(after, one));
  if (kind === undefined) return unpackComparison([before, after], [first, last]);
  const [was, is] = [speedOf(before, kind)!, speedOf(after, kind)!];
  const bytes = `a sweep reads ${formatBytes(is.bytes / is.sweeps)} against ${formatBytes(was.bytes / was.sweeps)}`;
  const memory = `peak memory is ${formatBytes(after.peakRssBytes)} against ${formatBytes(before.peakRssBytes)}`;
  const speed = ({ tokensPerSecond }: Speed) => threeDigits(tokensPerSecond);
  const factor = is.tokensPerSecond / was.tokensPerSecond;
  const what = kind === "decode" ? "" : " of the prompt";
  const against = (one: Speed, other: Speed) => `${speed(one)} tokens/s${what} against ${speed(other)}`;
  const verb =
    Math.abs(factor - 1) < SAME
      ? `${last} is as fast as ${first}: ${against(is, was)}`
      : factor > 1
        ? `${last} is ${threeDigits(factor)} times as fast as ${first}: ${against(is, was)}`
        : `${first} is ${threeDigits(1 / factor)} times as fast as ${last}: ${against(was, is)}`;
  return `${verb}. In ${last}, ${bytes}; ${memory}.${unevenText(before, after, kind)}`;
}

/** A difference in the model, its dtype or the disk shows in all layers; one in some of them has another cause. */
function unevenText(before: CondensedRecording, after: CondensedRecording, kind: Kind): string {
  const [was, is] = [before, after].map((recording) => {
    const { rows, tokens = rows, layers } = sumSweeps(sweepsOf(recording.sweeps, kind));
    return layers.map(({ waitMs, computeMs }) => (waitMs + computeMs) / tokens);
  });
  if (was.length !== is.length) return "";
  const slower = is.filter((ms, layer) => ms > (1 + SAME) * was[layer]).length;
  const faster = is.filter((ms, layer) => ms < (1 - SAME) * was[layer]).length;
  const most = Math.max(slower, faster);
  if (most === 0 || most >= THROUGHOUT * is.length) return "";
  return ` Not all layers differ alike: ${slower} of ${is.length} took longer, ${faster} less: other programs may have been in the way.`;
}

/** Of two recordings that have but an unpack in common. */
function unpackComparison(
  recordings: readonly [CondensedRecording, CondensedRecording],
  [first, last]: readonly [string, string],
): string {
  const [was, is] = recordings.map((recording) => unpackBreakdown(recording)?.ms);
  if (was === undefined || is === undefined) return "The two recordings have nothing in common to compare.";
  return `${first} took ${formatMs(was)} to unpack, ${last} ${formatMs(is)}.`;
}
