/**
 * What narrows the choice of the next token, each as llama.cpp's sampler of that name has it
 * (src/llama-sampler.cpp). Every filter changes the candidates in place and leaves at least one.
 */
import type { Candidates } from "./candidates.ts";

export type Filter = (candidates: Candidates) => void;

/**
 * Make tokens that were there recently less likely: a positive logit is divided by `penalty`, a negative one
 * multiplied, once for each token however often it occurred (Keskar et al. 2019, https://arxiv.org/abs/1909.05858).
 * Goes first, while token i is entry i.
 */
export function penalizeRepeats(candidates: Candidates, recent: Iterable<number>, penalty: number): void {
  const { logits } = candidates;
  for (const id of new Set(recent)) logits[id] = logits[id] > 0 ? logits[id] / penalty : logits[id] * penalty;
}

/** The k most probable tokens, in order; 0 keeps all. */
export function keepTopK(k: number): Filter {
  return (candidates) => {
    if (k > 0 && k < candidates.count) candidates.keepLeading((_, kept) => kept < k);
  };
}

/** The most probable tokens that together reach probability p, in order, the one that reaches it included. */
export function keepTopP(p: number): Filter {
  return (candidates) => {
    if (p >= 1) return;
    const { logits, count } = candidates;
    const max = logits[candidates.first()];
    let sum = 0;
    for (let entry = 0; entry < count; entry++) sum += Math.exp(logits[entry] - max);
    let mass = 0;
    candidates.keepLeading((logit) => {
      mass += Math.exp(logit - max);
      return mass < p * sum;
    });
  };
}

/** The tokens at least p times as probable as the most probable one; 0 keeps all. */
export function keepMinP(p: number): Filter {
  return (candidates) => {
    if (p > 0) candidates.keepAtLeast(candidates.logits[candidates.first()] + Math.log(p));
  };
}
