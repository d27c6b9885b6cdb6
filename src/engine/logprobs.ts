import { SluiceError } from "../errors.ts";
import { Candidates } from "./candidates.ts";
import type { GeneratedToken, TokenLogprob } from "./types.ts";

/**
 * The n most probable tokens by a plain softmax (temperature 1, no filters), computed in float64; the most probable
 * one first, the lower id first where two are equal.
 *
 * @param logits (vocabulary)
 */
export function topLogprobs(logits: Float32Array, n: number): TokenLogprob[] {
  if (!Number.isSafeInteger(n) || n < 0) {
    throw new SluiceError("bad-input", `logprobs is ${n}, but must be a whole number from 0 up`);
  }
  if (n === 0) return [];
  const total = logSumExp(logits);
  const candidates = new Candidates(logits.length);
  candidates.load(logits);
  candidates.keepLeading((_, kept) => kept < n);
  return Array.from(candidates.ids.subarray(0, candidates.count), (id) => ({
    id,
    logprob: logits[id] - total,
  }));
}

/** What a generated token reports of its own probability, and of the n most probable ones. */
export function tokenLogprob(
  logits: Float32Array,
  id: number,
  n: number,
): NonNullable<GeneratedToken["logprob"]> {
  return { id, logprob: logits[id] - logSumExp(logits), top: topLogprobs(logits, n) };
}

/** ln Σ exp(logit), without overflow. */
function logSumExp(logits: Float32Array): number {
  let max = -Infinity;
  for (const logit of logits) max = Math.max(max, logit);
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - max);
  return max + Math.log(sum);
}
