export interface EncodeOptions {
  /** Recognise control tokens (`<|im_end|>`) in the text. Off for what a user typed. Default false. */
  readonly special?: boolean;
  /** With `special`: a character that keeps control tokens around it from being recognised; it is taken out. */
  readonly shield?: string;
  /** Add the tokens that the model wants at the start (BOS) and end (EOS) of every text. Default false. */
  readonly bos?: boolean;
  /** Give up as soon as it is certain that there are more tokens: error `context-full`. Default: no limit. */
  readonly most?: number;
}

/** Text to token ids and back. */
export interface Tokenizer {
  /** Number of tokens. */
  readonly size: number;
  /** Bytes of the longest token. */
  readonly longest: number;
  readonly bos: number | undefined;
  readonly eos: number | undefined;
  /** Whether the model file asks for a BOS before every text. */
  readonly addBos: boolean;
  /** Tokens that end an answer. */
  readonly endOfGeneration: ReadonlySet<number>;
  /** Texts of the control tokens (`<|im_end|>`, …). */
  readonly controlTexts: readonly string[];
  /** Token ids of a text; bytes need not be valid UTF-8. */
  encode(text: string | Uint8Array, options?: EncodeOptions): number[];
  /** Bytes that a token stands for; empty for control tokens unless `special`, and for ids out of range. */
  bytes(id: number, special?: boolean): Uint8Array;
  /** Text of tokens; control tokens are left out unless `special`; broken UTF-8 becomes U+FFFD. */
  decode(ids: Iterable<number>, special?: boolean): string;
}

export interface ChatMessage {
  readonly role: string;
  readonly content: string;
  /** Other fields (tool_calls, name, …) go to the template as they are. */
  readonly [field: string]: unknown;
}
