import type { DecodeTiming, SweepTiming } from "../timing/types.ts";
import type { DraftCounts } from "./draft/types.ts";
import type { SamplerStep } from "./sampler.ts";

/** How the next token is chosen from the logits. */
export interface SamplingOptions {
  /** 0 takes the most probable token; higher is more random. Default 0.8. */
  readonly temperature?: number;
  /** Keep only the k most probable tokens; 0 keeps all. Default 40. */
  readonly topK?: number;
  /** Keep the most probable tokens that together reach this probability; 1 keeps all. Default 0.95. */
  readonly topP?: number;
  /** Keep tokens at least this likely compared with the most probable one; 0 keeps all. Default 0.05. */
  readonly minP?: number;
  /** Divide the logits of recent tokens by this (multiply negative ones); 1 is off. Default 1. */
  readonly repeatPenalty?: number;
  /** How many recent tokens the penalty looks at. Default 64. */
  readonly repeatLastN?: number;
  /** The same seed gives the same text. Default: a random one. */
  readonly seed?: number;
}

/** Where a generation stands: for progress lines. Told about ten times a second. */
export interface GenerateProgress {
  readonly phase: "prefill" | "decode";
  /** Layers that are done in this sweep, and layers in all. */
  readonly layer: number;
  readonly layers: number;
  /** Rows of the prompt done by earlier sweeps, in this sweep, and to do in all (decode: 0, 1, 1). */
  readonly rowsDone: number;
  readonly rowsInSweep: number;
  readonly rowsTotal: number;
}

export interface GenerateOptions {
  readonly sampling?: SamplingOptions;
  /** Tokens to generate at most; absent: until the model ends or the context is full. */
  readonly maxTokens?: number;
  /** How many most probable tokens to report with each token; absent: no log-probabilities. */
  readonly logprobs?: number;
  /** How many candidates to report with each token, and what the sampler did with them; absent: nothing of it. */
  readonly explain?: number;
  /** Texts that end the generation where one of them appears; it is not part of the answer. */
  readonly stop?: readonly string[];
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: GenerateProgress) => void;
}

export interface TokenLogprob {
  readonly id: number;
  /** Natural logarithm of the probability by a plain softmax over all logits (temperature 1, no filters). */
  readonly logprob: number;
}

/** What the model would say next at one position of a text, if it ended after each of its layers. */
export interface LensPosition {
  readonly position: number;
  /** The token that is there. */
  readonly id: number;
  /** (layers + 1, up to 10): the most probable tokens, first those after the embedding, last those of the model. */
  readonly stages: readonly (readonly TokenLogprob[])[];
}

/** One generated token. */
export interface GeneratedToken {
  readonly id: number;
  /**
   * Text that became certain with this token: may be empty, for a character can span tokens, and what might become a
   * text of `stop` is held back.
   */
  readonly text: string;
  /** With `logprobs`: this token's, and the most probable ones. */
  readonly logprob?: TokenLogprob & { readonly top: readonly TokenLogprob[] };
  /** With `explain`: how it was chosen. */
  readonly choice?: Choice;
}

/** How a token was chosen. */
export interface Choice {
  /** The tokens that were most probable, the first one first, and the chosen one where it is none of them. */
  readonly candidates: readonly Candidate[];
  /** What the sampler did, in order: how many tokens each step left, and their share of the probability before. */
  readonly steps: readonly { readonly step: SamplerStep; readonly left: number; readonly mass: number }[];
}

export interface Candidate {
  readonly id: number;
  /** Probability as the model gives it: softmax of its logits. */
  readonly before: number;
  /** Probability that it was drawn with; 0 where it was removed, or where the temperature is 0 and it is not the best. */
  readonly after: number;
  /** The step that removed it; absent where none did. */
  readonly removed?: SamplerStep;
}

/** Why a generation ended: an end-of-generation token, a text of `stop`, `maxTokens`, the context, or the AbortSignal. */
export type StopReason = "eog" | "stop" | "length" | "context" | "abort";

/** What a generation was, returned when its iterator ends. */
export interface GenerateResult {
  readonly stop: StopReason;
  /** Generated ids; the last one is the end-of-generation token where `stop` is "eog". */
  readonly ids: readonly number[];
  readonly text: string;
  /** With `stop` "stop": which of the texts it was. */
  readonly stopText?: string;
  /** Tokens of the prompt that were not computed again: their keys and values were there. */
  readonly reused: number;
  /** How many of these came from the prompt cache. */
  readonly recalled: number;
  /** Every sweep that ran: those of the prompt, then those of the answer, after its first token. */
  readonly prefill: readonly SweepTiming[];
  readonly decode: readonly DecodeTiming[];
  /** What came of the guesses that some of these sweeps have verified. */
  readonly drafts: readonly DraftCounts[];
}
