import { perSecond, type StageSums, type Summable, sumStages } from "./statistics.ts";

/** The sweeps of one generation. */
export interface GenerationTiming {
  /** Milliseconds that opening the model took. */
  readonly loadMs: number;
  /** Tokens of the prompt that came from the prompt cache. */
  readonly recalled?: number;
  readonly prefill: readonly Summable[];
  readonly decode: readonly Summable[];
}

export interface LayerReport {
  readonly layer: number;
  readonly bytes: number;
  readonly read_ms: number;
  readonly wait_ms: number;
  readonly compute_ms: number;
}

/** The `timings` of `run --json`; names as in llama.cpp's server. */
export interface TimingsReport {
  readonly load_ms: number;
  /** Tokens of the prompt that came from the prompt cache. */
  readonly cache_n: number;
  /** Tokens of the prompt that were computed, without those whose keys and values were there. */
  readonly prompt_n: number;
  readonly prompt_ms: number;
  readonly prompt_per_second: number;
  /** Tokens that decode sweeps gave: one fewer than were generated, for the first comes out of the prefill. */
  readonly predicted_n: number;
  readonly predicted_ms: number;
  readonly predicted_per_second: number;
  /** Tokens that were guessed (see docs/speculation.md), those that held, and the milliseconds that guessing took. */
  readonly draft_n: number;
  readonly draft_n_accepted: number;
  readonly draft_ms: number;
  /** Each layer, summed over the decode sweeps. */
  readonly layers: readonly LayerReport[];
  /** Each layer, summed over the sweeps of the prompt. */
  readonly prefill_layers: readonly LayerReport[];
}

export function reportTimings({ loadMs, recalled = 0, prefill, decode }: GenerationTiming): TimingsReport {
  const prompt = sumStages(prefill);
  const predicted = sumStages(decode);
  const predictedMs = predicted.ms + predicted.guessMs;
  return {
    load_ms: round(loadMs),
    cache_n: recalled,
    prompt_n: prompt.tokens,
    prompt_ms: round(prompt.ms),
    prompt_per_second: round(perSecond(prompt.tokens, prompt.ms)),
    predicted_n: predicted.tokens,
    predicted_ms: round(predictedMs),
    predicted_per_second: round(perSecond(predicted.tokens, predictedMs)),
    draft_n: predicted.guessed,
    draft_n_accepted: predicted.held,
    draft_ms: round(predicted.guessMs),
    layers: reportLayers(predicted),
    prefill_layers: reportLayers(prompt),
  };
}

function reportLayers({ layers }: StageSums): LayerReport[] {
  return layers.map(({ bytes, readMs, waitMs, computeMs }, layer) => ({
    layer,
    bytes,
    read_ms: round(readMs),
    wait_ms: round(waitMs),
    compute_ms: round(computeMs),
  }));
}

/** To microseconds: what the clock is good for. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
