import { SluiceError } from "../errors.ts";
import type { Hyperparameters } from "../model/types.ts";
import type { Tokenizer } from "../text/types.ts";
import type { Guesses, SweepKind, SweepTiming } from "../timing/types.ts";
import { AnswerWriter } from "./answer-writer.ts";
import type { Drafter } from "./draft/drafter.ts";
import type { Engine } from "./engine.ts";
import { BLOCK_POSITIONS, type KvBlock } from "./kv-block.ts";
import type { Sequence } from "./kv-sequence.ts";
import { type PromptCache, PromptSegments, SEGMENT_POSITIONS } from "./prompt-cache.ts";
import type { Row } from "./row-filler.ts";
import { ALONE } from "./tiles.ts";
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
  readonly #vocabulary: number;
  readonly #drafter: Drafter;
  /**
   * (vocabulary) for each row that asked in the last sweep; kept, for arrays that are new each time stay in memory until
   * the collector comes.
   */
  readonly #logits: Float32Array[] = [];
  readonly #promptCache: PromptCache | undefined;
  #ids: number[] = [];
  #generating = false;

  constructor(
    engine: Engine,
    tokenizer: Tokenizer,
    { layers, vocabulary }: Pick<Hyperparameters, "layers" | "vocabulary">,
    contextLength: number,
    drafter: Drafter,
    promptCache?: PromptCache,
  ) {
    this.#engine = engine;
    this.#promptCache = promptCache;
    this.#tokenizer = tokenizer;
    this.#layers = layers.length;
    this.#vocabulary = vocabulary;
    this.#drafter = drafter;
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
    const { maxTokens = Number.POSITIVE_INFINITY, signal, onProgress } = options;
    const writer = new AnswerWriter(prompt, options, this.#tokenizer, this.contextLength);
    this.#check(prompt, maxTokens);
    this.#generating = true;
    const { observer } = this.#engine;
    this.#drafter.openAccount();
    let reused = this.#keep(commonPrefix(this.#ids, prompt.slice(0, -1)));
    let recalled = 0;
    const segments = this.#promptCache && new PromptSegments(this.#promptCache, prompt, this.#sequence);
    const prefill: SweepTiming[] = [];
    const decode: (SweepTiming & { -readonly [Key in keyof Guesses]: Guesses[Key] })[] = [];
    const result = (stop: StopReason): GenerateResult => {
      return { ...writer.end(stop), reused, recalled, prefill, decode, drafts: this.#drafter.counts };
    };

    try {
      recalled = await this.#recall(segments, prompt, signal);
      if (recalled > 0) reused = recalled;
      // What is kept is what full sweeps from the first token on have left.
      const keeps = reused === recalled;
      for (let done = reused; done < prompt.length; ) {
        const batch = prompt.slice(done, done + this.#engine.maximumRows);
        const { length } = batch;
        const asked = done + length === prompt.length ? 1 : 0;
        const timing = await this.#sweep("prefill", batch, asked, signal, (layer) =>
          onProgress?.({
            phase: "prefill",
            layer,
            layers: this.#layers,
            rowsDone: done - reused,
            rowsInSweep: length,
            rowsTotal: prompt.length - reused,
          }),
        );
        this.#ids.push(...batch);
        prefill.push(timing);
        if (keeps && length === SEGMENT_POSITIONS) segments?.keep(done / length, timing.ms);
        done += length;
      }

      if (maxTokens < 1) return result("length");
      let [guess, right]: [readonly number[], number] = [[], 0];
      for (;;) {
        const start = performance.now();
        const { token, stop } = writer.take(this.#logits[right]);
        observer?.span("sample", start, performance.now());
        const holds = guess[right] === token.id;
        const sweep = decode.at(-1);
        if (sweep) sweep.tokens++;
        if (holds) {
          this.#ids.push(token.id);
          right++;
        }
        if (sweep && (!holds || stop)) {
          sweep.held = right;
          this.#drafter.learn(sweep.ms, right, Math.min(right + (holds ? 0 : 1), guess.length));
          if (guess.length > 0) observer?.verified?.(sweep);
        }
        yield token;
        if (stop) return result(stop);
        if (signal?.aborted) return result("abort");
        if (holds) continue;

        if (right < guess.length) this.#keep(this.#ids.length);
        const guessing = performance.now();
        guess = await this.#drafter.propose(writer.tokens, writer.left - 1, {
          sequence: this.#sequence,
          sampler: writer.forkSampler(),
          signal,
        });
        const guessMs = guess.length > 0 ? performance.now() - guessing : 0;
        if (guess.length > 0) observer?.span("guess", guessing, guessing + guessMs, guess.length);
        right = 0;
        const rows = [token.id, ...guess];
        const timing = await this.#sweep("decode", rows, rows.length, signal, (layer) =>
          onProgress?.({
            phase: "decode",
            layer,
            layers: this.#layers,
            rowsDone: 0,
            rowsInSweep: rows.length,
            rowsTotal: rows.length,
          }),
        );
        this.#ids.push(token.id);
        decode.push({ ...timing, tokens: 0, guessed: guess.length, held: 0, guessMs });
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

  /**
   * Compute these tokens after those in the KV cache.
   *
   * @param asked how many of the last ones are to have logits
   */
  async #sweep(
    kind: SweepKind,
    tokens: readonly number[],
    asked: number,
    signal: AbortSignal | undefined,
    onStage: (layer: number) => void,
  ): Promise<SweepTiming> {
    const first = this.#ids.length;
    const rows = tokens.map((token, index): Row => {
      const logits = index >= tokens.length - asked;
      return { sequence: this.#sequence, position: first + index, token, logits };
    });
    while (this.#logits.length < asked) this.#logits.push(new Float32Array(this.#vocabulary));
    // A guessed token gives to the bit what it would give in a sweep of its own.
    const tiles = kind === "decode" ? ALONE : undefined;
    const { timing } = await this.#engine.sweep(rows, { kind, signal, onStage, logits: this.#logits, tiles });
    return timing;
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
