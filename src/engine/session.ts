import { SluiceError } from "../errors.ts";
import type { Hyperparameters } from "../model/types.ts";
import type { Tokenizer } from "../text/types.ts";
import { Utf8Stream } from "../text/utf8.ts";
import type { SweepKind, SweepTiming } from "../timing/types.ts";
import type { Engine } from "./engine.ts";
import { choose } from "./explain.ts";
import { BLOCK_POSITIONS, type KvBlock, type Sequence } from "./kv-cache.ts";
import { tokenLogprob } from "./logprobs.ts";
import { type PromptCache, PromptSegments, SEGMENT_POSITIONS } from "./prompt-cache.ts";
import type { Row } from "./row-filler.ts";
import { createSampler } from "./sampler.ts";
import { StopTexts } from "./stop-texts.ts";
import type { GeneratedToken, GenerateOptions, GenerateResult, StopReason } from "./types.ts";

/** The state of a session. */
export interface SessionSnapshot {
  readonly ids: readonly number[];
  /** Keys and values of the ids, 64 in each block; views, valid until the session generates again. */
  readonly blocks: readonly KvBlock[];
}

/** One conversation: the tokens that are in its KV cache, and the way to add to them. */
export class Session {
  readonly contextLength: number;
  readonly #engine: Engine;
  readonly #tokenizer: Tokenizer;
  readonly #layers: number;
  readonly #sequence: Sequence;
  /** Of the last token; kept, for an array that is new each time stays in memory until the collector comes. */
  readonly #logits: Float32Array;
  readonly #promptCache: PromptCache | undefined;
  #ids: number[] = [];
  #generating = false;

  constructor(
    engine: Engine,
    tokenizer: Tokenizer,
    { layers, vocabulary }: Pick<Hyperparameters, "layers" | "vocabulary">,
    contextLength: number,
    promptCache?: PromptCache,
  ) {
    this.#engine = engine;
    this.#promptCache = promptCache;
    this.#tokenizer = tokenizer;
    this.#layers = layers.length;
    this.#logits = new Float32Array(vocabulary);
    this.contextLength = contextLength;
    this.#sequence = engine.createSequence(contextLength);
  }

  /** Tokens whose keys and values are in the KV cache. */
  get ids(): readonly number[] {
    return this.#ids;
  }

  /** Bytes of the KV cache. */
  get kvBytes(): number {
    return this.#sequence.bytes;
  }

  /** Forget everything. @throws SluiceError `bad-input` while it is generating */
  reset(): void {
    this.#checkIdle();
    this.#keep(0);
  }

  /**
   * Its state, to be saved and restored later.
   *
   * @throws SluiceError `bad-input` while it is generating
   */
  snapshot(): SessionSnapshot {
    this.#checkIdle();
    // A sweep that was stopped may have taken more.
    const used = Math.ceil(this.#ids.length / BLOCK_POSITIONS);
    return { ids: [...this.#ids], blocks: this.#sequence.blocks.slice(0, used) };
  }

  /**
   * Put back a state that a session of the same model, dtype and type of KV cache had: what comes next is what would
   * have come there.
   *
   * @param fill writes the bytes of a block, by its index, into `target`; what it throws is passed on, and the session
   *   is empty then
   * @throws SluiceError `context-full` when there are more ids than the context holds, `bad-input` while it is generating
   */
  async restore(
    ids: readonly number[],
    fill: (target: Uint8Array, index: number) => void | Promise<void>,
  ): Promise<void> {
    this.#checkIdle();
    this.#checkLength("saved conversation", ids.length);
    this.#keep(0);
    this.#generating = true;
    let done = false;
    try {
      this.#sequence.reserve(ids.length);
      for (const index of this.#sequence.blocks.keys())
        await this.#sequence.fill(index, 1, ([target]) => fill(target, index));
      this.#ids = [...ids];
      done = true;
    } finally {
      this.#generating = false;
      if (!done) this.#keep(0);
    }
  }

  /**
   * Continue a text, token by token.
   *
   * Pass the ids of the whole conversation each time: what it has in common with the KV cache from its start on is
   * not computed again. Stopping half-way, by `signal` or by leaving the loop, keeps what was computed.
   *
   * @example
   * for await (const { text } of session.generate(model.tokenizer.encode("Once upon a time"), { maxTokens: 50 }))
   *   process.stdout.write(text);
   *
   * @throws SluiceError `context-full` when the prompt has more tokens than the context, `bad-input` for an empty
   *   prompt, ids that are none, or sampling options out of range
   */
  async *generate(
    prompt: readonly number[],
    options: GenerateOptions = {},
  ): AsyncGenerator<GeneratedToken, GenerateResult> {
    this.#checkIdle();
    const { maxTokens = Number.POSITIVE_INFINITY, logprobs, explain, signal, onProgress } = options;
    const sampler = createSampler(options.sampling);
    const stopTexts = new StopTexts(options.stop ?? []);
    this.#check(prompt, maxTokens);
    this.#generating = true;
    let reused = this.#keep(commonPrefix(this.#ids, prompt.slice(0, -1)));
    let recalled = 0;
    const segments = this.#promptCache && new PromptSegments(this.#promptCache, prompt, this.#sequence);
    const prefill: SweepTiming[] = [];
    const decode: SweepTiming[] = [];
    const history = [...prompt];
    const utf8 = new Utf8Stream();
    const ids: number[] = [];
    let text = "";
    const result = (stop: StopReason): GenerateResult => {
      text += stopTexts.push(utf8.end()) + stopTexts.end();
      const { found } = stopTexts;
      const why = found === undefined ? { stop } : { stop: "stop" as const, stopText: found };
      return { ...why, ids, text, reused, recalled, prefill, decode };
    };

    try {
      recalled = await this.#recall(segments, prompt, signal);
      if (recalled > 0) reused = recalled;
      // What is kept is what full sweeps from the first token on have left.
      const keeps = reused === recalled;
      for (let done = reused; done < prompt.length; ) {
        const batch = prompt.slice(done, done + this.#engine.maximumRows);
        const { length } = batch;
        const last = done + length === prompt.length;
        const sweep = await this.#sweep("prefill", batch, last, signal, (layer) =>
          onProgress?.({
            phase: "prefill",
            layer,
            layers: this.#layers,
            rowsDone: done - reused,
            rowsInSweep: length,
            rowsTotal: prompt.length - reused,
          }),
        );
        prefill.push(sweep.timing);
        if (keeps && length === SEGMENT_POSITIONS) segments?.keep(done / length, sweep.timing.ms);
        done += length;
      }

      if (maxTokens < 1) return result("length");
      for (;;) {
        const start = performance.now();
        const { id, choice } = choose(sampler, this.#logits, history, explain);
        const logprob = logprobs === undefined ? {} : { logprob: tokenLogprob(this.#logits, id, logprobs) };
        this.#engine.observer?.span("sample", start, performance.now());
        ids.push(id);
        history.push(id);
        let stop = this.#stopAfter(id, ids.length >= maxTokens);
        let piece = stopTexts.push(utf8.push(this.#tokenizer.bytes(id)));
        if (stop) piece += stopTexts.push(utf8.end()) + stopTexts.end();
        if (stopTexts.found !== undefined) stop = "stop";
        text += piece;
        yield { id, text: piece, ...logprob, ...(choice && { choice }) };
        if (stop) return result(stop);
        if (signal?.aborted) return result("abort");
        const sweep = await this.#sweep("decode", [id], true, signal, (layer) =>
          onProgress?.({
            phase: "decode",
            layer,
            layers: this.#layers,
            rowsDone: 0,
            rowsInSweep: 1,
            rowsTotal: 1,
          }),
        );
        decode.push(sweep.timing);
      }
    } catch (error) {
      if (error instanceof SluiceError && error.code === "aborted") return result("abort");
      throw error;
    } finally {
      await segments?.settle();
      this.#generating = false;
    }
  }

  /** Begin with what the prompt cache has, where that is more than the KV cache has. @returns how many tokens */
  async #recall(
    segments: PromptSegments | undefined,
    prompt: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<number> {
    if (segments === undefined || (await segments.found()) <= this.#ids.length) return 0;
    this.#keep(0);
    const length = await segments.recall(0, signal);
    this.#ids = prompt.slice(0, length);
    return length;
  }

  #stopAfter(id: number, enough: boolean): StopReason | undefined {
    if (this.#tokenizer.endOfGeneration.has(id)) return "eog";
    if (enough) return "length";
    if (this.#ids.length >= this.contextLength) return "context";
    return undefined;
  }

  /** Compute these tokens after those in the KV cache. */
  async #sweep(
    kind: SweepKind,
    tokens: readonly number[],
    logits: boolean,
    signal: AbortSignal | undefined,
    onStage: (layer: number) => void,
  ) {
    const first = this.#ids.length;
    const rows = tokens.map((token, index): Row => {
      const last = index === tokens.length - 1;
      return { sequence: this.#sequence, position: first + index, token, logits: logits && last };
    });
    const sweep = await this.#engine.sweep(rows, { kind, signal, onStage, logits: [this.#logits] });
    this.#ids.push(...tokens);
    return sweep;
  }

  /** Cut the KV cache back to its first `length` tokens. */
  #keep(length: number): number {
    this.#ids = this.#ids.slice(0, length);
    this.#sequence.truncate(length);
    return length;
  }

  #checkIdle(): void {
    if (this.#generating)
      throw new SluiceError("bad-input", "this session is generating already", {
        next: "Wait for its end, abort it, or create another session.",
      });
  }

  #check(prompt: readonly number[], maxTokens: number): void {
    if (!(maxTokens >= 0))
      throw new SluiceError("bad-input", `maxTokens is ${maxTokens}, but must be a number from 0 up`);
    if (prompt.length === 0)
      throw new SluiceError("bad-input", "the prompt is empty: it has no tokens", {
        next: "Give some text, or leave out --no-template: a chat begins with tokens of its own.",
      });
    this.#checkLength("prompt", prompt.length);
  }

  #checkLength(what: string, length: number): void {
    if (length > this.contextLength)
      throw new SluiceError(
        "context-full",
        `the ${what} has ${length} tokens, and the context holds ${this.contextLength}`,
        { next: `Shorten the ${what}, or raise the context with -c.` },
      );
    this.#sequence.checkRoom(length);
  }
}

/** How many ids two lists have in common from their start on. */
export function commonPrefix(a: readonly number[], b: readonly number[]): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}
