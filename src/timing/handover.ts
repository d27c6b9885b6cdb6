import type { Summable } from "./statistics.ts";
import { formatMs, formatShare } from "./units.ts";

/** Below this share of the sweep's time it is not worth a word. */
const LEAST_SHARE = 0.05;

/**
 * What of the first sweep's time was no work on a prompt, in a sentence: before its first layer the compute threads are
 * started and load their code. Undefined where that does not matter, was not recorded, or came before these sweeps.
 */
export function handoverSentence(
  sweeps: readonly Pick<Summable, "ms" | "threadStartMs">[],
): string | undefined {
  const first = sweeps.find(({ threadStartMs }) => threadStartMs !== undefined);
  if (first?.threadStartMs === undefined || first.threadStartMs < LEAST_SHARE * first.ms) return undefined;
  const { ms, threadStartMs } = first;
  return `Of the ${formatMs(ms)} that the first sweep took, ${formatMs(threadStartMs)} (${formatShare(threadStartMs / ms)}) went into hand-over: starting the compute threads, before the first layer. That happens once; later prompts do not pay it.`;
}
