import { SluiceError } from "../errors.ts";
import type { Candidates } from "./candidates.ts";
import { topLogprobs } from "./logprobs.ts";
import type { Sampler, SamplerStep } from "./sampler.ts";
import type { Candidate, Choice } from "./types.ts";

/**
 * Choose the next token, and tell how where `most` is given.
 *
 * @param logits (vocabulary)
 * @param most candidates to report
 * @throws SluiceError as `Sampler.sample`, and `bad-input` where `most` is no count
 */
export function choose(
  sampler: Sampler,
  logits: Float32Array,
  history: readonly number[],
  most: number | undefined,
): { readonly id: number; readonly choice?: Choice } {
  if (most === undefined) return { id: sampler.sample(logits, history) };
  if (!Number.isSafeInteger(most) || most < 1)
    throw new SluiceError("bad-input", `explain is ${most}, but must be a whole number from 1 up`);

  const before = probabilities(logits);
  const top = topLogprobs(logits, most).map(({ id }) => id);
  const steps: { step: SamplerStep; left: number; mass: number }[] = [];
  const removed = new Map<number, SamplerStep>();
  // Until a step narrows them, all tokens are candidates, with the logits that the model gave them.
  let left: Pick<Candidates, "ids" | "logits"> = { ids: Uint32Array.from(logits.keys()), logits };
  const id = sampler.sample(logits, history, (step, candidates) => {
    const ids = candidates.ids.slice(0, candidates.count);
    left = { ids, logits: candidates.logits.slice(0, candidates.count) };
    const kept = new Set(ids);
    for (const token of top) if (!kept.has(token) && !removed.has(token)) removed.set(token, step);
    steps.push({ step, left: ids.length, mass: ids.reduce((sum, token) => sum + before[token], 0) });
  });

  const after = new Map<number, number>();
  if (sampler.temperature === 0) after.set(id, 1);
  else {
    const drawn = probabilities(left.logits, sampler.temperature);
    for (const [entry, token] of left.ids.entries()) after.set(token, drawn[entry]);
  }
  const candidates = (top.includes(id) ? top : [...top, id]).map((token): Candidate => {
    const by = removed.get(token);
    return { id: token, before: before[token], after: after.get(token) ?? 0, ...(by && { removed: by }) };
  });
  return { id, choice: { candidates, steps } };
}

/** softmax(logits / temperature) in float64 */
function probabilities(logits: Float32Array, temperature = 1): Float64Array {
  const max = logits.reduce((largest, logit) => Math.max(largest, logit), -Infinity);
  const weights = Float64Array.from(logits, (logit) => Math.exp((logit - max) / temperature));
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / sum);
}
