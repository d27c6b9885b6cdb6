import type { BatchSummary } from "../../engine/batch/types.ts";
import type { Model } from "../../engine/model.ts";
import type { SamplingOptions } from "../../engine/types.ts";
import { SluiceError } from "../../errors.ts";
import type { PromptStore } from "../../prompt-store/prompt-store.ts";
import { interruptSignal, signalExitCode } from "../interrupt.ts";
import { printableLine } from "../printable.ts";
import { tell } from "../tell.ts";
import type { Input } from "./input.ts";
import type { Item } from "./items.ts";
import type { Output } from "./output-file.ts";
import { BatchProgressView, summaryText } from "./progress-view.ts";
import { idOf, otherFields } from "./question.ts";
import { type ItemRequest, requestOf } from "./requests.ts";
import { answerLine, errorLine, type ResultLine, type ResultWriter } from "./result-line.ts";
import type { BatchSettings } from "./settings.ts";
import { isInShard, type Shard } from "./shard.ts";
import { isDone } from "./survey.ts";

export interface BatchRunOptions {
  readonly input: Input;
  readonly shard: Shard;
  readonly output: Output;
  /** What the output is called. */
  readonly name: string;
  readonly writer: ResultWriter;
  readonly settings: BatchSettings;
  readonly sampling: SamplingOptions;
  readonly parallel: number;
  readonly keyOf: (item: Item) => string;
  /** Prompts in all, where that is known, and how many of them are done. */
  readonly total: number | undefined;
  readonly done: number;
}

/** Prompts on their way through the model, and their results on their way to the output. */
export class BatchRun {
  readonly #options: BatchRunOptions;
  readonly #view = new BatchProgressView();
  #done: number;
  /** Lines that no request could be made of. */
  #odd = 0;
  #warned = false;
  #told = false;

  constructor(options: BatchRunOptions) {
    this.#options = options;
    this.#done = options.done;
  }

  /** @returns whether all prompts have their results now; where it was stopped, what to do is told */
  async answer(model: Model, promptCache: PromptStore | undefined): Promise<boolean> {
    const { parallel, total } = this.#options;
    const results = model.batch(this.#requests(model), {
      parallel,
      promptCache,
      signal: interruptSignal,
      onProgress: (progress) => this.#view.show(progress, { done: this.#done, total }),
    });
    try {
      for (;;) {
        const { done, value } = await results.next();
        if (done) {
          this.#tellSummary(value);
          return true;
        }
        const { item, prompt } = value.request;
        const line =
          "answer" in value
            ? answerLine(this.#place(item), prompt.length, value.answer)
            : errorLine(this.#place(item), value.error);
        await this.#write(item, line);
      }
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code !== "aborted") throw error;
      this.#tellStopped();
      process.exitCode = signalExitCode(interruptSignal.reason);
      return false;
    } finally {
      this.#view.clear();
    }
  }

  async *#requests(model: Model): AsyncGenerator<ItemRequest> {
    const { input, shard, output, name, keyOf, settings, sampling } = this.#options;
    for await (const item of input.items()) {
      if (!isInShard(item.index, shard) || isDone(item, { name, done: output.done }, keyOf)) continue;
      this.#tellOdd(item);
      let request: ItemRequest;
      try {
        request = requestOf(model, item, settings, sampling, (warning) => this.#warn(warning));
      } catch (error) {
        if (!(error instanceof SluiceError)) throw error;
        this.#odd++;
        await this.#write(item, errorLine(this.#place(item), error));
        continue;
      }
      yield request;
    }
  }

  #place(item: Item) {
    const fields = otherFields(item);
    const key = this.#options.keyOf(item);
    return { index: item.index, id: idOf(item), key, ...(Object.keys(fields).length > 0 && { fields }) };
  }

  async #write(item: Item, line: ResultLine): Promise<void> {
    this.#view.clear();
    await this.#options.output.write(item.index, line.key, this.#options.writer.write(line, item.cells));
    this.#done++;
  }

  #warn(warning: string): void {
    if (this.#warned) return;
    this.#warned = true;
    this.#tell(warning);
  }

  /** A field of JSON that means nothing may be a mistake in writing. */
  #tellOdd(item: Item): void {
    const [field] = item.cells ? [] : Object.keys(otherFields(item));
    if (field === undefined || this.#told) return;
    this.#told = true;
    this.#tell(
      `sluice: line ${item.line}: "${printableLine(field)}" means nothing here, and is kept as it is`,
    );
  }

  #tellSummary(summary: BatchSummary): void {
    this.#tell(summaryText(summary, summary.errors + this.#odd));
  }

  #tellStopped(): void {
    const { total, output } = this.#options;
    const count = total === undefined ? `${this.#done}` : `${this.#done} of ${total}`;
    const next = output.resumable ? "\n  The same command goes on from there." : "";
    this.#tell(`sluice: stopped: ${count} done${next}`);
  }

  #tell(text: string): void {
    this.#view.clear();
    tell(text);
  }
}
