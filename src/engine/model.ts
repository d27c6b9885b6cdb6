import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import type { ShadowOptions } from "../shadow/make-shadow.ts";
import { type Cache, openCache } from "../store/cache.ts";
import { CACHE_FORMAT } from "../store/manifest.ts";
import type { ShadowDtype } from "../store/shadow.ts";
import type { Manifest } from "../store/types.ts";
import { type ChatTemplate, createChatTemplate, type RenderOptions } from "../text/chat-template.ts";
import { promptOf } from "../text/prompt.ts";
import { createTokenizer } from "../text/tokenizer.ts";
import { decodeTokenizerData } from "../text/tokenizer-data.ts";
import type { ChatMessage, Tokenizer } from "../text/types.ts";
import type { Observer } from "../timing/types.ts";
import { version } from "../version.ts";
import { runBatch } from "./batch/run-batch.ts";
import type { BatchOptions, BatchRequest, BatchResult, BatchSummary } from "./batch/types.ts";
import { MAXIMUM_ASKED } from "./buffers.ts";
import { Drafter } from "./draft/drafter.ts";
import { type DraftChoice, type DraftSource, openDrafts } from "./draft/open-drafts.ts";
import { prepareShadow } from "./draft/prepare-shadow.ts";
import { Engine } from "./engine.ts";
import type { EngineOptions } from "./engine-options.ts";
import { BLOCK_POSITIONS, KV_FORMAT, kvBlockBytes } from "./kv-block.ts";
import type { PromptCache } from "./prompt-cache.ts";
import { isLong } from "./rope-table.ts";
import type { Row } from "./row-filler.ts";
import { Session } from "./session.ts";
import type { LensPosition } from "./types.ts";

/** How to open a model. `contextLength` is what the model was trained for where it is absent. */
export interface OpenOptions extends Omit<EngineOptions, "shadow" | "reservedBytes">, ShadowOptions {
  /** Who guesses the next tokens of an answer, the first one first; default: lookup. Answers are the same without. */
  readonly drafts?: readonly DraftChoice[] | undefined;
}

/** Context of models that do not say what they were trained for. */
const DEFAULT_CONTEXT = 4096;

/**
 * An unpacked model, ready to generate. Its weights stay on disk; it holds the tokenizer, the working buffers and a
 * ring of chunks. Close it when done.
 *
 * @example
 * const { folder } = await unpack("SmolLM3-Q8_0.gguf", { root: "/data/sluice", dtype: "q8" });
 * const model = await Model.open(folder);
 * const prompt = model.encodeChat([{ role: "user", content: "Why is the sky blue?" }]);
 * for await (const { text } of model.createSession().generate(prompt)) process.stdout.write(text);
 * await model.close();
 */
export class Model {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly tokenizer: Tokenizer;
  readonly template: ChatTemplate;
  readonly contextLength: number;
  /** Milliseconds that opening took. */
  readonly loadMs: number;
  /** As it was given to `open`. */
  readonly observer: Observer | undefined;
  readonly #engine: Engine;
  readonly #drafts: DraftSource;

  private constructor(cache: Cache, options: EngineOptions, drafts: DraftSource) {
    const start = performance.now();
    const { folder } = cache;
    this.folder = folder;
    this.manifest = cache.manifest;
    this.#drafts = drafts;
    const text = decodeTokenizerData(readFileSync(join(folder, cache.manifest.tokenizer.name)));
    this.tokenizer = createTokenizer(text);
    this.template = createChatTemplate(text.chatTemplates["default"]);
    this.contextLength = options.contextLength ?? (cache.manifest.model.contextLength || DEFAULT_CONTEXT);
    this.#engine = new Engine(cache, { ...options, contextLength: this.contextLength });
    this.observer = options.observer;
    this.loadMs = performance.now() - start;
    this.observer?.span("load", start, start + this.loadMs);
  }

  /**
   * Open an unpacked model (see `unpack`).
   *
   * @throws SluiceError `bad-cache` when the folder is not one, or a file of it is damaged; `bad-input` for a draft that is
   *   of another vocabulary, or that memory has no room for
   */
  static async open(folder: string, { drafts = ["lookup"], ...options }: OpenOptions = {}): Promise<Model> {
    const cache = openCache(folder);
    const source = openDrafts(drafts, cache, options);
    let model: Model | undefined;
    try {
      const shadow = drafts.includes("shadow");
      model = new Model(cache, { ...options, shadow, reservedBytes: source.bytes }, source);
      if (shadow) await prepareShadow(model.#engine, cache, options);
      return model;
    } catch (error) {
      await (model ?? source).close();
      throw error;
    }
  }

  /**
   * Token ids of a conversation, put through the model's chat template, with the assistant's turn opened at the end.
   *
   * @param options `variables` for the template (`enable_thinking`, …), and the day that it sees
   */
  encodeChat(
    messages: readonly ChatMessage[],
    options: Omit<RenderOptions, "messages"> = {},
  ): readonly number[] {
    return promptOf(this.template, this.tokenizer, { ...options, messages }, this.observer).ids;
  }

  /** @param options `promptCache`: where beginnings of prompts that were computed before are found, and kept */
  createSession({ promptCache }: { readonly promptCache?: PromptCache | undefined } = {}): Session {
    const { model } = this.manifest;
    const drafter = new Drafter(this.#drafts.create(this.#engine), model.vocabulary);
    return new Session(this.#engine, this.tokenizer, model, this.contextLength, drafter, promptCache);
  }

  /** Tells all that keys and values follow from beside the tokens: where it is the same, they are, to the bit. */
  get kvKey(): string {
    const { model, source, dtype } = this.manifest;
    const { kvType, roundsToBytes } = this.#engine;
    return JSON.stringify([
      ...[version(), source.fingerprint, dtype, CACHE_FORMAT],
      ...[kvType, KV_FORMAT, BLOCK_POSITIONS, kvBlockBytes(model, kvType)],
      ...[isLong(model.rope, this.contextLength), roundsToBytes],
    ]);
  }

  /**
   * Answer many requests in the same sweeps: those that are given first begin first, and results come as they are done.
   * Each is what a session of its own would give (with temperature 0 or a seed), and what two prompts begin with in common
   * is computed once. How many are at work at a time follows from `parallel` of `open` and from the memory for their KV
   * caches. A request that makes no sense, or does not fit, gives an error as its result.
   *
   * @example
   * const model = await Model.open(folder, { parallel: 32 });
   * const requests = questions.map((content) => ({ prompt: model.encodeChat([{ role: "user", content }]) }));
   * for await (const result of model.batch(requests))
   *   console.log(requests.indexOf(result.request), "answer" in result ? result.answer.text : result.error.message);
   *
   * @throws SluiceError `aborted`, and whatever `requests` throws
   */
  batch<Request extends BatchRequest>(
    requests: AsyncIterable<Request> | Iterable<Request>,
    options: BatchOptions = {},
  ): AsyncGenerator<BatchResult<Request>, BatchSummary> {
    const { vocabulary, layers } = this.manifest.model;
    const { tokenizer, contextLength } = this;
    const model = { engine: this.#engine, tokenizer, vocabulary, contextLength, layers: layers.length };
    return runBatch(model, requests, options);
  }

  /**
   * Logits of every position of a text, in order.
   *
   * @param onRow gets (vocabulary) float32 for each position
   */
  async logits(
    ids: readonly number[],
    {
      signal,
      onProgress,
      onRow,
    }: {
      readonly signal?: AbortSignal;
      /** Called with the layer that the sweep is at, and the positions done by sweeps before it. */
      readonly onProgress?: (layer: number, positionsDone: number) => void;
      readonly onRow: (position: number, logits: Float32Array) => void | Promise<void>;
    },
  ): Promise<void> {
    const sequence = this.#engine.createSequence(ids.length);
    try {
      for (let first = 0; first < ids.length; ) {
        const rows = ids
          .slice(first, first + MAXIMUM_ASKED)
          .map((token, index): Row => ({ sequence, position: first + index, token, logits: true }));
        const onStage = (layer: number) => onProgress?.(layer, first);
        const { logits } = await this.#engine.sweep(rows, { signal, onStage });
        for (const [index, row] of logits.entries()) await onRow(first + index, row);
        first += rows.length;
      }
    } finally {
      sequence.truncate(0);
    }
  }

  /**
   * The logit lens: what the model would say next after each of its layers, at the last positions of a text. Every 16
   * positions take a sweep; the text before them is read as in `generate`.
   *
   * @param positions how many; default: all of the text
   * @throws SluiceError `context-full` when the text has more tokens than the context, `bad-input` for an empty text or
   *   ids that are none
   */
  async lens(
    ids: readonly number[],
    {
      positions = ids.length,
      signal,
      onProgress,
    }: {
      readonly positions?: number;
      readonly signal?: AbortSignal;
      /** Called with the layer that the sweep is at, and the tokens done by sweeps before it. */
      readonly onProgress?: (layer: number, tokensDone: number) => void;
    } = {},
  ): Promise<LensPosition[]> {
    checkText(ids, this.contextLength);
    if (!(Number.isSafeInteger(positions) && positions >= 1))
      throw new SluiceError("bad-input", `positions is ${positions}, but must be a whole number from 1 up`);
    const firstAsked = Math.max(0, ids.length - positions);
    const sequence = this.#engine.createSequence(ids.length);
    const found: LensPosition[] = [];
    try {
      for (let first = 0; first < ids.length; ) {
        const lens = first >= firstAsked;
        const end = lens ? first + MAXIMUM_ASKED : Math.min(first + this.#engine.maximumRows, firstAsked);
        const rows = ids
          .slice(first, end)
          .map((token, index): Row => ({ sequence, position: first + index, token, logits: lens }));
        const onStage = (layer: number) => onProgress?.(layer, first);
        const sweep = await this.#engine.sweep(rows, { signal, onStage, lens });
        for (const [index, stages] of (sweep.lens ?? []).entries())
          found.push({ position: first + index, id: rows[index].token, stages });
        first += rows.length;
      }
      return found;
    } finally {
      sequence.truncate(0);
    }
  }

  /**
   * Bytes of weights in memory, those passing through and those that stay; how the others are read, and by whom; what the
   * shadow is made of, where there is one, and its bytes.
   */
  memory(): Pick<
    Engine,
    "ringBytes" | "residentBytes" | "streamedBytes" | "shadowBytes" | "direct" | "threads" | "kvType"
  > {
    return this.#engine;
  }

  /** What the copy to guess with is made of, where there is one. */
  get shadow(): ShadowDtype | undefined {
    return this.#engine.shadow?.dtype;
  }

  /** Where the sweep at work is, at any moment: to be looked at while a session generates. */
  get progress(): Pick<Engine["progress"], "stages" | "position"> {
    return this.#engine.progress;
  }

  async close(): Promise<void> {
    await this.#engine.close();
    await this.#drafts.close();
  }
}

function checkText(ids: readonly number[], contextLength: number): void {
  if (ids.length === 0)
    throw new SluiceError("bad-input", "the text is empty: it has no tokens", { next: "Give some text." });
  if (ids.length > contextLength)
    throw new SluiceError(
      "context-full",
      `the text has ${ids.length} tokens, and the context holds ${contextLength}`,
      { next: "Shorten the text, or raise the context with -c." },
    );
}
