import { SluiceError } from "../../errors.ts";
import type { Tokenizer } from "../../text/types.ts";
import { AnswerWriter } from "../answer-writer.ts";
import type { Candidates } from "../candidates.ts";
import type { Sequence } from "../kv-sequence.ts";
import { type RowKind, rowKind } from "../tiles.ts";
import type { StopReason } from "../types.ts";
import type { BatchAnswer, BatchRequest } from "./types.ts";

/** What the members of a batch have in common. */
export interface Company {
  readonly tokenizer: Tokenizer;
  readonly vocabulary: number;
  readonly contextLength: number;
  /** Samplers take turns with it. */
  readonly candidates: Candidates;
}

/** Tokens that an answer of unknown length is expected to have at least. */
const LIKELY_TOKENS = 256;

/** One sequence of a batch, from its prompt to its answer. */
export class Member<Request extends BatchRequest> {
  readonly request: Request;
  /** Where keys and values are; absent while it waits for memory. */
  sequence: Sequence | undefined;
  /** How many of the tokens have their keys and values there. */
  computed = 0;
  /** Tokens of the prompt that were taken from another member, at the latest start. */
  reused = 0;
  /** How many of these came from the prompt cache. */
  recalled = 0;
  readonly #company: Company;
  readonly #writer: AnswerWriter;

  /** @throws SluiceError `bad-input` or `context-full` where the request makes no sense */
  constructor(request: Request, company: Company) {
    check(request, company);
    this.request = request;
    this.#company = company;
    const { tokenizer, contextLength, candidates } = company;
    this.#writer = new AnswerWriter(request.prompt, request, tokenizer, contextLength, candidates);
  }

  /** Prompt and answer. */
  get tokens(): readonly number[] {
    return this.#writer.tokens;
  }

  /** Tokens that are still to be computed. */
  get pending(): number {
    return this.tokens.length - this.computed;
  }

  /** Whether tokens of the prompt are still to be computed. */
  get prefilling(): boolean {
    return this.computed < this.request.prompt.length;
  }

  get generated(): number {
    return this.#writer.length;
  }

  /** Positions that it will probably come to hold. */
  get expected(): number {
    const { prompt, maxTokens = Infinity } = this.request;
    const answer = Math.min(maxTokens, Math.max(LIKELY_TOKENS, 2 * this.generated));
    return Math.min(this.#company.contextLength, prompt.length + answer);
  }

  kindAt(position: number): RowKind {
    return rowKind(position, this.request.prompt.length);
  }

  /**
   * Choose the next token, all others being computed.
   *
   * @param logits (vocabulary) after the last token
   * @returns the answer, where this token ended it
   * @throws SluiceError as `Sampler.sample`
   */
  take(logits: Float32Array): BatchAnswer | undefined {
    const { stop } = this.#writer.take(logits);
    return stop && this.end(stop);
  }

  /** Its answer as it is. */
  end(stop: StopReason): BatchAnswer {
    return { ...this.#writer.end(stop), reused: this.reused, recalled: this.recalled };
  }
}

function check({ prompt, maxTokens = 0 }: BatchRequest, { vocabulary, contextLength }: Company): void {
  if (!(maxTokens >= 0))
    throw new SluiceError("bad-input", `maxTokens is ${maxTokens}, but must be a number from 0 up`);
  if (prompt.length === 0)
    throw new SluiceError("bad-input", "the prompt is empty: it has no tokens", { next: "Give some text." });
  if (prompt.length > contextLength)
    throw new SluiceError(
      "context-full",
      `the prompt has ${prompt.length} tokens, and the context holds ${contextLength}`,
      { next: "Shorten the prompt, or raise the context with -c." },
    );
  const odd = prompt.find((token) => !(Number.isInteger(token) && token >= 0 && token < vocabulary));
  if (odd !== undefined)
    throw new SluiceError("bad-input", `token ${odd} is not in the vocabulary of ${vocabulary}`);
}
