/**
 * @param logits (vocabulary)
 * @returns the lowest id of those with the highest logit
 */
export function mostProbable(logits: Float32Array): number {
  let best = 0;
  for (let id = 1; id < logits.length; id++) if (logits[id] > logits[best]) best = id;
  return best;
}
