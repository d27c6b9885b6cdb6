/**
 * Many sequences through the same sweeps. A sweep that streams a model from disk takes about as long for thirty rows as
 * for one, so every sequence that can go on has a row in it, and prompts fill what is left. Sequences join and leave
 * between sweeps; what two prompts have in common from their beginning on is computed once.
 *
 * Every answer is what a session alone would have given, to the bit: see engine/tiles.ts.
 */
import { SluiceError } from "../../errors.ts";
import { Candidates } from "../candidates.ts";
import type { Engine } from "../engine.ts";
import type { Sequence } from "../kv-sequence.ts";
import { type Company, Member } from "./member.ts";
import { type Part, planSweep, shareRows } from "./plan-rows.ts";
import { type Beginning, beginAs, findBeginning } from "./prefixes.ts";
import { recallBeginning } from "./recall.ts";
import { RequestSource } from "./request-source.ts";
import type { BatchOptions, BatchProgress, BatchRequest, BatchResult, BatchSummary } from "./types.ts";

/** The part of a model that a batch needs. */
export interface BatchModel extends Omit<Company, "candidates"> {
  readonly engine: Engine;
  readonly layers: number;
}

/** See `Model.batch`. */
export async function* runBatch<Request extends BatchRequest>(
  model: BatchModel,
  requests: AsyncIterable<Request> | Iterable<Request>,
  options: BatchOptions = {},
): AsyncGenerator<BatchResult<Request>, BatchSummary> {
  const batch = new Batch<Request>(model, options);
  const source = new RequestSource(requests);
  try {
    for (;;) {
      while (batch.hasPlace) {
        const request = await source.take(batch.isEmpty, options.signal);
        if (request === undefined) break;
        yield* batch.add(request);
      }
      if (batch.isEmpty && source.ended) return batch.summary;
      yield* await batch.sweep();
    }
  } finally {
    batch.close();
    await source.close();
  }
}

class Batch<Request extends BatchRequest> {
  readonly #engine: Engine;
  readonly #company: Company;
  readonly #layers: number;
  readonly #options: BatchOptions;
  readonly #parallel: number;
  /** For each sequence that may ask, (vocabulary). */
  readonly #logits: Float32Array[] = [];
  /** In the order in which they are served. */
  #running: Member<Request>[] = [];
  /** Those that memory has no room for at the moment, the next one first. */
  readonly #waiting: Member<Request>[] = [];
  /** One that is done, for those who begin as it did. */
  #kept: Member<Request> | undefined;
  readonly #sequences: Sequence[] = [];
  readonly #start = performance.now();
  readonly #counts = {
    ...{ answers: 0, errors: 0, sweeps: 0, rows: 0, promptRows: 0 },
    ...{ generated: 0, reused: 0, recalled: 0, parallel: 0, restarts: 0 },
  };

  constructor({ engine, layers, ...company }: BatchModel, options: BatchOptions) {
    this.#engine = engine;
    this.#layers = layers;
    this.#options = options;
    this.#company = { ...company, candidates: new Candidates(company.vocabulary) };
    this.#parallel = Math.min(options.parallel ?? engine.parallel, engine.parallel);
    if (!(this.#parallel >= 1)) throw new SluiceError("bad-input", `parallel is ${options.parallel}`);
  }

  get isEmpty(): boolean {
    return this.#running.length === 0 && this.#waiting.length === 0;
  }

  /** Whether one more request can be taken on. */
  get hasPlace(): boolean {
    return this.#waiting.length === 0 && this.#running.length < this.#parallel;
  }

  get summary(): BatchSummary {
    return { ...this.#counts, ms: performance.now() - this.#start };
  }

  /** @returns what became of the request, where that is known at once */
  add(request: Request): BatchResult<Request>[] {
    let member: Member<Request>;
    try {
      member = new Member(request, this.#company);
    } catch (error) {
      return [this.#fail(request, error)];
    }
    if (request.maxTokens === 0) {
      this.#counts.answers++;
      return [{ request, answer: member.end("length") }];
    }
    this.#waiting.push(member);
    this.#admit();
    return [];
  }

  /** Compute the next tokens. @returns the results that it brought */
  async sweep(): Promise<BatchResult<Request>[]> {
    this.#admit();
    await this.#recall();
    const results: BatchResult<Request>[] = [];
    const parts = this.#reserve(results);
    if (parts.length === 0) return results;
    const { rows, tiles, asking } = planSweep(parts);
    const { vocabulary } = this.#company;
    while (this.#logits.length < asking.length) this.#logits.push(new Float32Array(vocabulary));
    const { signal, onProgress } = this.#options;
    const promptRows = parts.reduce((sum, { member, count }) => sum + (member.prefilling ? count : 0), 0);
    await this.#engine.sweep(rows, {
      signal,
      kind: promptRows === rows.length ? "prefill" : "decode",
      logits: this.#logits,
      tiles,
      ...(onProgress && { onStage: (layer) => onProgress(this.#progress(layer)) }),
    });
    this.#counts.sweeps++;
    this.#counts.rows += rows.length;
    this.#counts.promptRows += promptRows;
    for (const { member, count } of parts) member.computed += count;
    const start = performance.now();
    for (const [index, member] of asking.entries()) {
      const result = this.#takeToken(member, this.#logits[index]);
      if (result) results.push(result);
    }
    this.#engine.observer?.span("sample", start, performance.now());
    onProgress?.(this.#progress(this.#layers));
    return results;
  }

  close(): void {
    for (const member of this.#running) this.#release(member);
    this.#forget();
  }

  #takeToken(member: Member<Request>, logits: Float32Array): BatchResult<Request> | undefined {
    try {
      const answer = member.take(logits);
      this.#counts.generated++;
      if (answer === undefined) return undefined;
      this.#counts.answers++;
      this.#running = this.#running.filter((other) => other !== member);
      this.#forget();
      this.#kept = member;
      return { request: member.request, answer };
    } catch (error) {
      this.#leave(member);
      return this.#fail(member.request, error);
    }
  }

  /** Let those that wait begin, as far as there is room for what they are expected to need. */
  #admit(): void {
    while (this.#waiting.length > 0 && this.#running.length < this.#parallel) {
      const [member] = this.#waiting;
      if (this.#running.length > 0 && !this.#hasRoom(member)) {
        if (this.#kept === undefined) return;
        this.#forget();
        continue;
      }
      this.#waiting.shift();
      member.sequence = this.#sequences.pop() ?? this.#engine.createSequence(this.#company.contextLength);
      this.#running.push(member);
      this.#counts.parallel = Math.max(this.#counts.parallel, this.#running.length);
    }
  }

  #hasRoom(member: Member<Request>): boolean {
    const promised = this.#running.reduce(
      (sum, { expected, sequence }) => sum + Math.max(0, expected - sequence!.capacity),
      0,
    );
    return promised + member.expected <= this.#engine.kvRoom;
  }

  /** Who goes on in the next sweep, with room for their keys and values; others give theirs where it is short. */
  #reserve(results: BatchResult<Request>[]): Part<Member<Request>>[] {
    for (;;) {
      try {
        const parts = shareRows(this.#able(), this.#engine.maximumRows);
        for (const { member, count } of parts) member.sequence!.reserve(member.computed + count);
        return parts;
      } catch (error) {
        if (!(error instanceof SluiceError) || error.code !== "context-full") throw error;
        this.#makeRoom(error, results);
      }
    }
  }

  /** The members that can go on: those that have begun, and those that have a beginning, or nothing to wait for. */
  #able(): Member<Request>[] {
    return this.#running.filter((member) => {
      if (member.computed > 0) return true;
      const beginning = this.#beginningOf(member);
      if (beginning === "wait") return false;
      if (beginning === undefined) return true;
      beginAs(member, beginning);
      this.#countReused(member);
      return true;
    });
  }

  #beginningOf(member: Member<Request>): Beginning | "wait" | undefined {
    const earlier = this.#running.slice(0, this.#running.indexOf(member));
    return findBeginning(member, earlier, this.#kept ? [this.#kept] : []);
  }

  /** Let those that are about to begin have what the prompt cache has. */
  async #recall(): Promise<void> {
    const { promptCache, signal } = this.#options;
    if (promptCache === undefined) return;
    for (const member of [...this.#running]) {
      const beginning = member.computed > 0 ? "wait" : this.#beginningOf(member);
      if (beginning === "wait") continue;
      const { ms, rows } = this.summary;
      await recallBeginning(promptCache, member, beginning, { msPerRow: ms / rows, signal });
      if (member.computed > 0) this.#countReused(member);
    }
  }

  #countReused({ reused, recalled }: Member<Request>): void {
    this.#counts.reused += reused - recalled;
    this.#counts.recalled += recalled;
  }

  #makeRoom(error: SluiceError, results: BatchResult<Request>[]): void {
    const last = this.#running[this.#running.length - 1];
    if (this.#kept !== undefined) this.#forget();
    else if (this.#running.length > 1) {
      this.#leave(last);
      last.computed = 0;
      this.#waiting.unshift(last);
      this.#counts.restarts++;
    } else {
      this.#leave(last);
      results.push(this.#fail(last.request, error));
    }
  }

  #leave(member: Member<Request>): void {
    this.#running = this.#running.filter((other) => other !== member);
    this.#release(member);
  }

  /** Give its blocks back, and keep its sequence for the next. */
  #release(member: Member<Request>): void {
    const { sequence } = member;
    if (sequence === undefined) return;
    sequence.truncate(0);
    this.#sequences.push(sequence);
    member.sequence = undefined;
  }

  #forget(): void {
    if (this.#kept) this.#release(this.#kept);
    this.#kept = undefined;
  }

  #fail(request: Request, error: unknown): BatchResult<Request> {
    if (!(error instanceof SluiceError)) throw error;
    this.#counts.errors++;
    return { request, error };
  }

  #progress(layer: number): BatchProgress {
    const prefilling = this.#running.filter((member) => member.prefilling).length;
    return { ...this.summary, running: this.#running.length, prefilling, layer, layers: this.#layers };
  }
}
