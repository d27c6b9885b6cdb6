import type { Model } from "../engine/model.ts";
import type { Session } from "../engine/session.ts";
import type { GenerateResult, SamplingOptions } from "../engine/types.ts";
import { SluiceError } from "../errors.ts";
import type { PromptStore } from "../prompt-store/prompt-store.ts";
import type { SessionEntry } from "../session-store/list.ts";
import type { ChatMessage } from "../text/types.ts";
import { AnswerView } from "./answer-view.ts";
import { answerWithin } from "./answer-within.ts";
import { findCommand, unknownCommand } from "./chat-commands/index.ts";
import type { ChatInput } from "./chat-input.ts";
import type { ChatSettings, ThinkMode } from "./chat-settings.ts";
import { Conversation } from "./conversation.ts";
import { failureLines } from "./exit.ts";
import { interruptSignal } from "./interrupt.ts";
import type { LineInput } from "./line-input.ts";
import { droppedText, type Overflow, turnsOf } from "./overflow.ts";
import { type PreparedPrompt, preparePrompt } from "./prepare-prompt.ts";
import { printableLine } from "./printable.ts";
import { tellPromptTrouble } from "./prompt-cache.ts";
import type { SessionKeeper } from "./session-keeper.ts";
import { tell } from "./tell.ts";
import type { TemplateFlags } from "./template-options.ts";
import { thinkMarks, thinkSwitch } from "./thinking.ts";
import { noteMemory, verdictLines } from "./verdict-view.ts";
import { printWrapped } from "./word-wrap.ts";

export interface TalkOptions {
  readonly system: string;
  readonly sampling: SamplingOptions;
  readonly maxTokens?: number | undefined;
  readonly overflow?: Overflow;
  /** Absent: thoughts are shown, and whether there are any is left to the model. */
  readonly think?: ThinkMode | undefined;
  readonly template: TemplateFlags;
  /** Print times after every answer. */
  readonly verbose: boolean;
  /** Absent: beginnings of prompts are neither kept nor used. */
  readonly promptCache?: PromptStore | undefined;
}

/** One conversation with a model: takes what the user enters, prints what comes of it. */
export class Talk {
  readonly model: Model;
  readonly session: Session;
  readonly conversation: Conversation;
  readonly keeper: SessionKeeper;
  template: TemplateFlags;
  /** Where the user types; absent where nobody can be asked anything. */
  input: LineInput | undefined;
  settings: ChatSettings;
  think: ThinkMode | undefined;
  /** The last question that got no answer at all: it is not part of the conversation. */
  unanswered: string | undefined;
  /** Whether a turn could not be answered, or a command not be carried out. */
  failed = false;
  /** Whether the user wants to leave. */
  left = false;
  readonly #options: TalkOptions;
  #last: GenerateResult | undefined;
  /** The last one about the chat template: said once, not at every turn. */
  #warning: string | undefined;
  /** Whether it was said that memory would help: once is enough. */
  #hinted = false;
  #answering: AbortController | undefined;

  constructor(model: Model, options: TalkOptions, keeper: SessionKeeper) {
    this.model = model;
    this.session = model.createSession(options);
    this.conversation = new Conversation(options.system);
    const { sampling, maxTokens, overflow = "stop" } = options;
    this.settings = { sampling, maxTokens, overflow };
    this.think = options.think;
    this.template = options.template;
    this.keeper = keeper;
    this.#options = options;
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
    tell((await this.keeper.load(this, entry)).join("\n"));
    this.unanswered = undefined;
    const last = this.conversation.turns.at(-1);
    if (last && this.input?.interactive)
      printWrapped(`> ${last.question}\n${last.answer}\n\n`, process.stderr);
  }

  async #command(name: string, argument: string): Promise<void> {
    const command = findCommand(name);
    if (command === undefined) {
      this.failed = true;
      return tell(unknownCommand(name));
    }
    try {
      if (command.usage === undefined && argument !== "")
        throw new SluiceError("bad-input", `/${name} takes nothing behind it, not ${argument}`, {
          next: "Put a space before it to send it to the model.",
        });
      await command.run(this, argument);
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code === "aborted") throw error;
      this.failed = true;
      tell(failureLines(error).join("\n"));
    }
  }

  /** Leave the chat once the command that asked for it is done. */
  leave(): void {
    this.left = true;
  }

  /** What the model reads of these messages. */
  prepare(messages: readonly ChatMessage[]): PreparedPrompt {
    const { template } = this;
    const name = thinkSwitch(this.templateSource);
    if (name === undefined || this.think === undefined) return preparePrompt(this.model, messages, template);
    const chatTemplateKwargs = { ...template.chatTemplateKwargs, [name]: this.think !== "off" };
    return preparePrompt(this.model, messages, { ...template, chatTemplateKwargs });
  }

  /** The chat template's Jinja source, the model's or the one that the user chose. */
  get templateSource(): string | undefined {
    return (this.template.chatTemplateFile ?? this.model.template).source;
  }

  /** One turn: put a question to the model, print and keep its answer. */
  async ask(question: string): Promise<void> {
    const stop = new AbortController();
    this.#answering = stop;
    this.unanswered = question;
    const { sampling, maxTokens, overflow } = this.settings;
    const marks = thinkMarks(this.templateSource);
    const context = this.model.contextLength;
    let view: AnswerView | undefined;
    try {
      const result = await answerWithin(this.model, this.session, this.conversation.ask(question), {
        overflow,
        prepare: (messages) => this.prepare(messages),
        marks,
        sampling,
        ...(maxTokens !== undefined && { maxTokens }),
        signal: AbortSignal.any([stop.signal, interruptSignal]),
        onPrompt: (prompt) => {
          this.#warn(prompt.warning);
          const room = overflow === "slide" ? Infinity : context - prompt.ids.length + 1;
          view = new AnswerView({
            marks,
            thinking: prompt.text.trimEnd().endsWith(marks.open),
            hideThoughts: this.think === "hide" || this.think === "off",
            limit: Math.min(maxTokens ?? Infinity, room),
          });
        },
        onProgress: (progress) => view?.onProgress(progress),
        onToken: ({ text }) => view?.write(text),
        onDrop: (dropped, computed) => {
          this.conversation.forget(turnsOf(dropped));
          const told = droppedText(dropped, { context, computed });
          if (view) view.remark(told);
          else tell(told);
        },
      });
      view?.end();
      this.#keep(question, view?.thinking ? `${result.text}\n${marks.close}\n\n` : result.text);
      if (result.ids.length > 0) this.#last = result;
      if (view?.thinking && view.hidesThoughts)
        tell("(it ended in its thoughts, which are hidden: /think on shows them)");
      tellPromptTrouble(this.#options.promptCache);
      if (result.stop === "abort") tell("(stopped; Ctrl-C again leaves)");
      if (result.stop === "context") tell(fullText(context, overflow));
      if (this.#options.verbose) tell((await this.stats()).join("\n"));
      else this.#hinted ||= noteMemory(this.model, result.decode);
    } catch (error) {
      view?.end();
      if (!isOfThisTurn(error)) throw error;
      this.failed = true;
      const tooLong = error.code === "context-full" && this.conversation.turns.length > 0;
      tell(tooLong && overflow === "stop" ? tooLongText(error) : failureLines(error).join("\n"));
    } finally {
      this.#answering = undefined;
      // Parts the answer from the next question.
      if (this.input?.interactive) process.stdout.write("\n");
    }
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

  #keep(question: string, answer: string): void {
    this.conversation.keep(question, answer);
    if (answer !== "") this.unanswered = undefined;
  }

  #warn(warning: string | undefined): void {
    if (warning && warning !== this.#warning) tell(warning);
    this.#warning = warning;
  }
}

function fullText(context: number, overflow: Overflow): string {
  const advice =
    overflow === "slide"
      ? "there is no older turn to drop; /reset starts over"
      : "/reset starts over, /set overflow slide drops the oldest turns";
  return `(the context of ${context} tokens is full: ${advice})`;
}

function tooLongText({ message }: SluiceError): string {
  return `sluice: the conversation has become too long: ${message}\n  /set overflow slide drops the oldest turns, /undo takes back the last one, /reset starts over.`;
}

/** Whether an error is about what was said, so that the chat can go on. */
function isOfThisTurn(error: unknown): error is SluiceError {
  return error instanceof SluiceError && (error.code === "context-full" || error.code === "bad-input");
}
