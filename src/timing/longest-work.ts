import type { Recording, SpanName } from "./recording.ts";
import { formatMs, formatShare } from "./units.ts";

type Work =
  | "unpacking"
  | "opening the model"
  | "preparing the prompt"
  | "computing the prompt"
  | "generating";

const WORK: Readonly<Record<SpanName, Work>> = {
  unpack: "unpacking",
  load: "opening the model",
  template: "preparing the prompt",
  tokenize: "preparing the prompt",
  prefill: "computing the prompt",
  guess: "generating",
  decode: "generating",
  sample: "generating",
};

/** What took longest, in a sentence, where that is not the generation that a verdict speaks of. */
export function longestWork({ command, spans }: Pick<Recording, "command" | "spans">): string | undefined {
  // Its prompts are tests of their own.
  if (command === "bench") return undefined;
  return longestOf(spans.map(({ name, ms }) => [WORK[name], ms]));
}

/** The same of an answer whose prompt and generation took these milliseconds. */
export function longestOfAnswer(promptMs: number, generationMs: number): string | undefined {
  return longestOf([
    ["computing the prompt", promptMs],
    ["generating", generationMs],
  ]);
}

function longestOf(parts: readonly (readonly [Work, number])[]): string | undefined {
  const sums = new Map<Work, number>();
  for (const [work, ms] of parts) sums.set(work, (sums.get(work) ?? 0) + ms);
  const generation = sums.get("generating") ?? 0;
  const [longest, ms] = [...sums].reduce((one, other) => (other[1] > one[1] ? other : one), ["", 0]);
  if (generation === 0 || ms <= generation) return undefined;
  const all = [...sums.values()].reduce((sum, part) => sum + part, 0);
  return `The largest part of the work was ${longest}: ${formatMs(ms)} of ${formatMs(all)} (${formatShare(ms / all)}); generating took ${formatMs(generation)}.`;
}
