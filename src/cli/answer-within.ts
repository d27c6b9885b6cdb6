import { sumDrafts } from "../engine/draft/types.ts";
import type { Model } from "../engine/model.ts";
import { commonPrefix, type Session } from "../engine/session.ts";
import type { GeneratedToken, GenerateOptions, GenerateResult } from "../engine/types.ts";
import type { ChatMessage } from "../text/types.ts";
import { Utf8Stream } from "../text/utf8.ts";
import { answer } from "./answer.ts";
import { type Fitted, fitAnswer, fitContext, type Overflow } from "./overflow.ts";
import type { PreparedPrompt } from "./prepare-prompt.ts";
import type { ThinkMarks } from "./thinking.ts";

export interface AnswerOptions extends GenerateOptions {
  readonly overflow: Overflow;
  readonly prepare: (messages: readonly ChatMessage[]) => PreparedPrompt;
  /** Marks of thoughts: they are part of the text even where the model has control tokens for them. */
  readonly marks?: ThinkMarks;
  /** What the model is about to read. */
  readonly onPrompt?: (prompt: PreparedPrompt) => void;
  readonly onToken: (token: GeneratedToken) => void;
  /** Turns had to be dropped, before the answer or in its midst, and so many tokens are to be computed for it. */
  readonly onDrop: (dropped: readonly ChatMessage[], computed: number) => void;
}

/**
 * Answer the last message of a conversation. With `slide`, the oldest turns are dropped where the context is full, and
 * the answer goes on where it was. What stands in front of them (the system message) stays in the KV cache; what stands
 * behind them has new positions, and other words before it, so it is computed again.
 */
export async function answerWithin(
  model: Model,
  session: Session,
  messages: readonly ChatMessage[],
  { overflow, prepare, marks, onPrompt, onToken, onDrop, maxTokens, ...options }: AnswerOptions,
): Promise<GenerateResult> {
  const context = model.contextLength;
  const said: GenerateResult[] = [];
  const ids: number[] = [];
  const utf8 = new Utf8Stream();
  const markBytes = bytesOfMarks(model, marks);
  let text = "";
  // With stop texts the session holds back what might become one.
  const held = (options.stop ?? []).length > 0;
  const take = ({ text: own, ...token }: GeneratedToken) => {
    ids.push(token.id);
    // A character may have begun before turns were dropped, and end after it.
    const piece = held ? own : utf8.push(markBytes.get(token.id) ?? model.tokenizer.bytes(token.id));
    text += piece;
    onToken({ ...token, text: piece });
  };
  const tell = (fitted: Fitted) => {
    const all = [...fitted.prompt.ids, ...ids];
    // The last token is always computed: its logits are wanted.
    const reused = commonPrefix(session.ids, all.slice(0, -1));
    if (fitted.dropped.length > 0) onDrop(fitted.dropped, all.length - reused);
  };

  let fitted: Fitted =
    overflow === "slide"
      ? fitContext(messages, prepare, { context, answer: maxTokens })
      : { messages, prompt: prepare(messages), dropped: [] };
  tell(fitted);
  onPrompt?.(fitted.prompt);
  for (;;) {
    const left = maxTokens === undefined ? {} : { maxTokens: maxTokens - ids.length };
    said.push(await answer(session, [...fitted.prompt.ids, ...ids], { ...options, ...left, onToken: take }));
    const { stop } = said[said.length - 1];
    if (stop !== "context" || overflow !== "slide") break;
    fitted = fitAnswer(fitted.messages, prepare, { context, answered: ids.length });
    const rest = held
      ? said
          .map((part) => part.text)
          .join("")
          .slice(text.length)
      : "";
    if (rest !== "") onToken({ id: ids[ids.length - 1], text: rest });
    text += rest;
    if (fitted.dropped.length === 0 || fitted.prompt.ids.length + ids.length >= context) break;
    tell(fitted);
  }
  const rest = utf8.end();
  if (rest !== "") onToken({ id: ids[ids.length - 1], text: rest });
  const { stop, stopText } = said[said.length - 1];
  return {
    stop,
    ...(stopText !== undefined && { stopText }),
    ids,
    text: held ? said.map((part) => part.text).join("") : text + rest,
    reused: said[0].reused,
    recalled: said[0].recalled,
    prefill: said.flatMap(({ prefill }) => prefill),
    decode: said.flatMap(({ decode }) => decode),
    drafts: sumDrafts(said.flatMap(({ drafts }) => drafts)),
  };
}

/** Control tokens have no bytes of their own in a text. */
function bytesOfMarks({ tokenizer }: Model, marks: ThinkMarks | undefined): ReadonlyMap<number, Uint8Array> {
  const ids = marks ? [marks.open, marks.close].map((mark) => tokenizer.encode(mark, { special: true })) : [];
  return new Map(ids.flatMap(([id, ...more]) => (more.length > 0 ? [] : [[id, tokenizer.bytes(id, true)]])));
}
