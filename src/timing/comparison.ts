/** Two recordings held against each other, in a sentence. */
import { formatBytes } from "../format-bytes.ts";
import type { CondensedRecording } from "./condense.ts";
import { speedOf } from "./facts.ts";
import { threeDigits } from "./units.ts";

/** Speeds closer than this are the same: runs differ by so much. */
const SAME = 0.02;

/**
 * How much faster or slower the last recording is than the first.
 *
 * @param labels what they are called, in their order
 */
export function comparison(recordings: readonly CondensedRecording[], labels: readonly string[]): string {
  const [before, after] = [recordings[0], recordings[recordings.length - 1]];
  const [first, last] = [labels[0], labels[labels.length - 1]];
  const kind = (["decode", "prefill"] as const).find((one) => speedOf(before, one) && speedOf(after, one));
  if (kind === undefined) return "The two recordings have no sweeps of the same kind to compare.";
  const [was, is] = [speedOf(before, kind)!, speedOf(after, kind)!];
  const doing = kind === "decode" ? "generates" : "computes the prompt with";
  const speeds = `${threeDigits(is.tokensPerSecond)} tokens/s against ${threeDigits(was.tokensPerSecond)}`;
  const bytes = `a sweep reads ${formatBytes(is.bytes / is.sweeps)} against ${formatBytes(was.bytes / was.sweeps)}`;
  const memory = `peak memory is ${formatBytes(after.peakRssBytes)} against ${formatBytes(before.peakRssBytes)}`;
  const factor = is.tokensPerSecond / was.tokensPerSecond;
  const verb =
    Math.abs(factor - 1) < SAME
      ? `${last} is as fast as ${first}`
      : factor > 1
        ? `${last} is ${threeDigits(factor)} times as fast as ${first}`
        : `${last} is slower than ${first}, which is ${threeDigits(1 / factor)} times as fast`;
  return `${verb}: it ${doing} ${speeds}; ${bytes}; ${memory}.`;
}
