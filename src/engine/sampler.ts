import { randomInt } from "node:crypto";
import { SluiceError } from "../errors.ts";
import { Candidates } from "./candidates.ts";
import { type Filter, keepMinP, keepTopK, keepTopP, penalizeRepeats } from "./filters.ts";
import { expandSeed, type Random, randomFrom } from "./random.ts";
import type { SamplingOptions } from "./types.ts";

export interface Sampler {
  /**
   * Choose the next token.
   *
   * @param logits (vocabulary); they are left as they are
   * @param recent ids of the text so far, the last one last; the repeat penalty looks at the end of it
   * @param watch is told of every step that changed the candidates
   * @throws SluiceError `bad-model` where the logits hold NaN or +Infinity
   */
  sample(logits: Float32Array, recent: readonly number[], watch?: WatchSampler): number;
  /** One that chooses as this one is going to, from here on, and leaves it as it is. */
  fork(): Sampler;
  /** What the logits of the candidates are divided by in the end; 0: the most probable one is taken. */
  readonly temperature: number;
}

/** What a sampler does with the candidates, in order. */
export type SamplerStep = "repeat-penalty" | "top-k" | "top-p" | "min-p";

/** Gets each step, and the candidates that there are after it: to be looked at, not to be changed. */
export type WatchSampler = (step: SamplerStep, candidates: Candidates) => void;

/** What holds where an option is absent: llama.cpp's defaults. */
export const SAMPLING_DEFAULTS = {
  temperature: 0.8,
  topK: 40,
  topP: 0.95,
  minP: 0.05,
  repeatPenalty: 1,
  repeatLastN: 64,
} as const;

/**
 * A sampler in llama.cpp's order: repeat penalty, top-k, top-p, min-p, then temperature and the draw. With
 * temperature 0 the most probable token (of the lowest id, where several are) after the penalty.
 *
 * @param candidates of the vocabulary, where several samplers take turns with them: then they take memory once
 * @throws SluiceError `bad-input` naming an option that is out of its range
 */
export function createSampler(options: SamplingOptions = {}, candidates = new Candidates(0)): Sampler {
  const { temperature, topK, topP, minP, repeatPenalty, repeatLastN } = { ...SAMPLING_DEFAULTS, ...options };
  check("temperature", temperature, Number.isFinite(temperature) && temperature >= 0, "a number from 0 up");
  check("top-k", topK, Number.isSafeInteger(topK) && topK >= 0, "a whole number from 0 up");
  check("top-p", topP, topP >= 0 && topP <= 1, "a number from 0 to 1");
  check("min-p", minP, minP >= 0 && minP <= 1, "a number from 0 to 1");
  const penaltyFits = Number.isFinite(repeatPenalty) && repeatPenalty > 0;
  check("repeat penalty", repeatPenalty, penaltyFits, "a number above 0");
  const lastNFits = Number.isSafeInteger(repeatLastN) && repeatLastN >= 0;
  check("repeat last n", repeatLastN, lastNFits, "a whole number from 0 up");
  const seed = options.seed ?? randomInt(2 ** 32);
  check("seed", seed, Number.isSafeInteger(seed) && seed >= 0, "a whole number from 0 up");

  const filters: readonly (readonly [SamplerStep, Filter])[] = [
    ["top-k", keepTopK(topK)],
    ["top-p", keepTopP(topP)],
    ["min-p", keepMinP(minP)],
  ];
  const withState = (state: Uint32Array): Sampler => ({
    temperature,
    fork: () => withState(state.slice()),
    sample(logits, recent, watch) {
      if (candidates.ids.length !== logits.length) candidates = new Candidates(logits.length);
      candidates.load(logits);
      if (repeatPenalty !== 1 && repeatLastN > 0) {
        penalizeRepeats(candidates, recent.slice(-repeatLastN), repeatPenalty);
        watch?.("repeat-penalty", candidates);
      }
      if (temperature === 0) return candidates.ids[candidates.first()];
      for (const [step, filter] of filters) {
        filter(candidates);
        watch?.(step, candidates);
      }
      return draw(candidates, temperature, randomFrom(state));
    },
  });
  return withState(expandSeed(seed));
}

/** One of the candidates at random, with the probabilities softmax(logits / temperature). */
function draw({ ids, logits, count }: Candidates, temperature: number, random: Random): number {
  let max = -Infinity;
  for (let entry = 0; entry < count; entry++) max = Math.max(max, logits[entry]);
  let sum = 0;
  for (let entry = 0; entry < count; entry++) sum += Math.exp((logits[entry] - max) / temperature);
  let rest = random() * sum;
  let chosen = 0;
  for (let entry = 0; entry < count; entry++) {
    const weight = Math.exp((logits[entry] - max) / temperature);
    if (weight === 0) continue;
    chosen = entry;
    rest -= weight;
    if (rest < 0) break;
  }
  return ids[chosen];
}

function check(name: string, value: number, fits: boolean, wanted: string): void {
  if (!fits) throw new SluiceError("bad-input", `${name} is ${value}, but must be ${wanted}`);
}
