import type { SluiceError } from "../../errors.ts";
import type { PromptCache } from "../prompt-cache.ts";
import type { GenerateOptions, GenerateResult } from "../types.ts";

/** A text to be continued: token ids, and how. */
export interface BatchRequest extends Pick<GenerateOptions, "sampling" | "maxTokens" | "stop"> {
  readonly prompt: readonly number[];
}

/** What became of a request: an answer, or why there is none. */
export type BatchResult<Request extends BatchRequest = BatchRequest> = {
  readonly request: Request;
} & ({ readonly answer: BatchAnswer } | { readonly error: SluiceError });

/** As a session would have given it. `reused`: tokens of the prompt that another request had computed before. */
export type BatchAnswer = Omit<GenerateResult, "prefill" | "decode" | "drafts">;

export interface BatchOptions {
  /** Sequences at a time at most; default, and most: as many as the model was opened for. */
  readonly parallel?: number;
  /** Where beginnings of prompts that were computed before are found, and those that two requests share are kept. */
  readonly promptCache?: PromptCache | undefined;
  readonly signal?: AbortSignal;
  /** Told about ten times a second, and after each sweep. */
  readonly onProgress?: (progress: BatchProgress) => void;
}

/** Where a batch stands. */
export interface BatchProgress extends BatchSummary {
  /** Sequences at work, and how many of these are still at their prompt. */
  readonly running: number;
  readonly prefilling: number;
  /** Layers that are done in this sweep, and layers in all. */
  readonly layer: number;
  readonly layers: number;
}

/** What a batch was, returned when its iterator ends. */
export interface BatchSummary {
  readonly answers: number;
  readonly errors: number;
  readonly sweeps: number;
  /** Rows of all sweeps, and those of them that were tokens of a prompt. */
  readonly rows: number;
  readonly promptRows: number;
  /** Tokens that were generated. */
  readonly generated: number;
  /** Tokens of prompts that were not computed, for another request had the same beginning. */
  readonly reused: number;
  /** Tokens of prompts that came from the prompt cache. */
  readonly recalled: number;
  /** Sequences at a time at most. */
  readonly parallel: number;
  /** How often a sequence gave its memory to others and was computed again later. */
  readonly restarts: number;
  /** Milliseconds since the batch began. */
  readonly ms: number;
}
