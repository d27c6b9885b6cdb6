import type { Summable } from "./statistics.ts";
import { formatMs, formatShare } from "./units.ts";

/** Below this share of the prompt's time it is not worth a word. */
const LEAST_SHARE = 0.05;

/**
 * What of a prompt's time was no work on it, in a sentence: before the first layer of the first sweep the compute
 * threads are started and load their code. Undefined where that does not matter, or was not recorded.
 *
 * @param prefill all sweeps of prompts
 */
export function handoverSentence(
  prefill: readonly Pick<Summable, "ms" | "handoverMs">[],
): string | undefined {
  const ms = prefill.reduce((sum, sweep) => sum + sweep.ms, 0);
  const handoverMs = prefill.reduce((sum, sweep) => sum + (sweep.handoverMs ?? 0), 0);
  if (ms === 0 || handoverMs < LEAST_SHARE * ms) return undefined;
  return `Of the ${formatMs(ms)} that the prompt took, ${formatMs(handoverMs)} (${formatShare(handoverMs / ms)}) went into hand-over: starting the compute threads, before the first layer. That happens once; later prompts do not pay it.`;
}
