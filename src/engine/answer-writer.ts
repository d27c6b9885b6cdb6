import type { Tokenizer } from "../text/types.ts";
import { Utf8Stream } from "../text/utf8.ts";
import type { Candidates } from "./candidates.ts";
import { choose } from "./explain.ts";
import { tokenLogprob } from "./logprobs.ts";
import { createSampler, type Sampler } from "./sampler.ts";
import { StopTexts } from "./stop-texts.ts";
import type { GeneratedToken, GenerateOptions, GenerateResult, StopReason } from "./types.ts";

type WritingOptions = Pick<GenerateOptions, "sampling" | "stop" | "maxTokens" | "logprobs" | "explain">;

/** Writes an answer: chooses token after token, turns them into text, and sees where it ends. */
export class AnswerWriter {
  /** Prompt and answer. */
  readonly tokens: number[];
  readonly #promptLength: number;
  readonly #options: WritingOptions;
  readonly #tokenizer: Tokenizer;
  readonly #contextLength: number;
  readonly #sampler: Sampler;
  readonly #stopTexts: StopTexts;
  readonly #utf8 = new Utf8Stream();
  #text = "";

  /**
   * @param candidates of the vocabulary, where several writers take turns with them
   * @throws SluiceError `bad-input` for options out of range
   */
  constructor(
    prompt: readonly number[],
    options: WritingOptions,
    tokenizer: Tokenizer,
    contextLength: number,
    candidates?: Candidates,
  ) {
    this.tokens = [...prompt];
    this.#promptLength = prompt.length;
    this.#options = options;
    this.#tokenizer = tokenizer;
    this.#contextLength = contextLength;
    this.#sampler = createSampler(options.sampling, candidates);
    this.#stopTexts = new StopTexts(options.stop ?? []);
  }

  /** Tokens of the answer so far. */
  get length(): number {
    return this.tokens.length - this.#promptLength;
  }

  /** Tokens that may still follow: at most so many more by `maxTokens` and by the context. */
  get left(): number {
    const { maxTokens = Number.POSITIVE_INFINITY } = this.#options;
    // The last token of a full context is chosen, but not computed.
    return Math.min(maxTokens - this.length, this.#contextLength + 1 - this.tokens.length);
  }

  /** One that chooses as this writer is going to. */
  forkSampler(): Sampler {
    return this.#sampler.fork();
  }

  /**
   * Choose the next token.
   *
   * @param logits (vocabulary) after the last token
   * @returns the token, and why the answer ends with it, where it does
   * @throws SluiceError as `Sampler.sample`
   */
  take(logits: Float32Array): { readonly token: GeneratedToken; readonly stop: StopReason | undefined } {
    const { logprobs, explain } = this.#options;
    const { id, choice } = choose(this.#sampler, logits, this.tokens, explain);
    const logprob = logprobs === undefined ? {} : { logprob: tokenLogprob(logits, id, logprobs) };
    this.tokens.push(id);
    let text = this.#stopTexts.push(this.#utf8.push(this.#tokenizer.bytes(id)));
    const stop = this.#stopTexts.found === undefined ? this.#stopAfter(id) : "stop";
    if (stop) text += this.#rest();
    this.#text += text;
    return { token: { id, text, ...logprob, ...(choice && { choice }) }, stop };
  }

  /** The answer as it is. */
  end(stop: StopReason): Pick<GenerateResult, "stop" | "stopText" | "ids" | "text"> {
    this.#text += this.#rest();
    const { found } = this.#stopTexts;
    const why = found === undefined ? { stop } : { stop: "stop" as const, stopText: found };
    return { ...why, ids: this.tokens.slice(this.#promptLength), text: this.#text };
  }

  /** What was held back until now. */
  #rest(): string {
    return this.#stopTexts.push(this.#utf8.end()) + this.#stopTexts.end();
  }

  #stopAfter(id: number): StopReason | undefined {
    if (this.#tokenizer.endOfGeneration.has(id)) return "eog";
    const { maxTokens = Number.POSITIVE_INFINITY } = this.#options;
    if (this.length >= maxTokens) return "length";
    return this.left < 1 ? "context" : undefined;
  }
}
