import type { Model } from "../engine/model.ts";
import type { Session } from "../engine/session.ts";
import type { GenerateResult, SamplingOptions } from "../engine/types.ts";
import { SluiceError } from "../errors.ts";
import type { SessionEntry } from "../session-store/list.ts";
import { answer } from "./answer.ts";
import { AnswerView } from "./answer-view.ts";
import { findCommand, unknownCommand } from "./chat-commands/index.ts";
import type { ChatInput } from "./chat-input.ts";
import { Conversation } from "./conversation.ts";
import { failureLines } from "./exit.ts";
import { interruptSignal } from "./interrupt.ts";
import { note } from "./note.ts";
import { preparePrompt } from "./prepare-prompt.ts";
import { printableLine } from "./printable.ts";
import type { SessionKeeper } from "./session-keeper.ts";
import type { TemplateFlags } from "./template-options.ts";
import { noteMemory, verdictLines } from "./verdict-view.ts";

export interface TalkOptions {
  readonly system: string;
  readonly sampling: SamplingOptions;
  readonly maxTokens?: number | undefined;
  readonly template: TemplateFlags;
  /** Print times after every answer. */
  readonly verbose: boolean;
}

/** One conversation with a model: takes what the user enters, prints what comes of it. */
export class Talk {
  readonly model: Model;
  options: TalkOptions;
  readonly keeper: SessionKeeper;
  readonly session: Session;
  readonly conversation: Conversation;
  #last: GenerateResult | undefined;
  /** The last one about the chat template: said once, not at every turn. */
  #warning: string | undefined;
  /** Whether it was said that memory would help: once is enough. */
  #hinted = false;
  #answering: AbortController | undefined;
  /** Whether any turn could not be answered. */
  failed = false;
  /** Whether the user wants to leave. */
  left = false;

  constructor(model: Model, options: TalkOptions, keeper: SessionKeeper) {
    this.model = model;
    this.options = options;
    this.keeper = keeper;
    this.session = model.createSession();
    this.conversation = new Conversation(options.system);
  }

  get answering(): boolean {
    return this.#answering !== undefined;
  }

  banner(): string {
    const { manifest, contextLength } = this.model;
    const { name, architecture, layers } = manifest.model;
    return [
      `${printableLine(name)} · ${printableLine(architecture)}, ${layers.length} layers · ${manifest.dtype} · context of ${contextLength} tokens`,
      "/help lists the commands, Ctrl-D leaves.",
    ].join("\n");
  }

  /** Stop the answer that is coming; false where none is, or it has been stopped already. */
  stop(): boolean {
    if (this.#answering === undefined || this.#answering.signal.aborted) return false;
    this.#answering.abort();
    return true;
  }

  async take(entered: ChatInput): Promise<void> {
    if (entered.kind === "message") await this.ask(entered.text);
    if (entered.kind === "command") await this.#command(entered.name, entered.argument);
    await this.keeper.autosave(this);
  }

  /** Go on with a saved conversation, and show how it stands. */
  async resume(entry: SessionEntry): Promise<void> {
    const lines = await this.keeper.load(this, entry);
    note(lines.join("\n"));
    const { last } = this.conversation;
    if (last && process.stderr.isTTY) note(`> ${last.question}\n${last.answer}`);
  }

  async #command(name: string, argument: string): Promise<void> {
    const command = findCommand(name);
    if (command === undefined) return note(unknownCommand(name));
    try {
      await command.run(this, argument);
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code === "aborted") throw error;
      this.failed = true;
      note(failureLines(error).join("\n"));
    }
  }

  /** Leave the chat once the command that asked for it is done. */
  leave(): void {
    this.left = true;
  }

  /** One turn: put a question to the model, print and keep its answer. */
  async ask(question: string): Promise<void> {
    const view = new AnswerView();
    const stop = new AbortController();
    this.#answering = stop;
    try {
      const { ids, warning } = preparePrompt(
        this.model,
        this.conversation.ask(question),
        this.options.template,
      );
      if (warning && warning !== this.#warning) note(warning);
      this.#warning = warning;
      const { sampling, maxTokens } = this.options;
      const result = await answer(this.session, ids, {
        sampling,
        ...(maxTokens !== undefined && { maxTokens }),
        signal: AbortSignal.any([stop.signal, interruptSignal]),
        onProgress: view.onProgress,
        onToken: ({ text }) => view.write(text),
      });
      view.end();
      this.conversation.keep(question, result.text);
      if (result.ids.length > 0) this.#last = result;
      if (result.stop === "abort") note("(stopped; Ctrl-C again leaves)");
      if (result.stop === "context")
        note(`(the context of ${this.model.contextLength} tokens is full: /reset starts over)`);
      if (this.options.verbose) note((await this.stats()).join("\n"));
      else this.#hinted ||= noteMemory(this.model, result.decode);
    } catch (error) {
      view.end();
      if (!isOfThisTurn(error)) throw error;
      this.failed = true;
      const tooLong = error.code === "context-full" && this.conversation.turns > 0;
      note(tooLong ? this.#tooLong(error) : failureLines(error).join("\n"));
    } finally {
      this.#answering = undefined;
    }
  }

  #tooLong({ message }: SluiceError): string {
    return `sluice: the conversation has become too long: ${message}\n  /reset starts over.`;
  }

  /** Times of the last answer, and what the context holds. */
  async stats(): Promise<string[]> {
    const { contextLength, loadMs } = this.model;
    const { ids, kvBytes } = this.session;
    const context = `context: ${ids.length} of ${contextLength} tokens, KV cache ${(kvBytes / 1e6).toFixed(1)} MB`;
    if (this.#last === undefined) return [context];
    const times = await verdictLines(this.model, { loadMs, ...this.#last });
    return [...times, "", `${context}, ${this.#last.reused} tokens reused`];
  }
}

/** Whether an error is about what was said, so that the chat can go on. */
function isOfThisTurn(error: unknown): error is SluiceError {
  return error instanceof SluiceError && (error.code === "context-full" || error.code === "bad-input");
}
