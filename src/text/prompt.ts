import type { Observer } from "../timing/types.ts";
import { tooMany } from "./bpe.ts";
import type { ChatTemplate, RenderOptions } from "./chat-template.ts";
import { contentText } from "./messages.ts";
import type { ChatMessage, EncodeOptions, Tokenizer } from "./types.ts";
import { decodeUtf8 } from "./utf8.ts";

/** What a model gets to read. */
export interface ChatPrompt {
  readonly text: string;
  readonly ids: readonly number[];
}

/**
 * Put a conversation through a chat template and encode it. Control tokens are recognised where the template put
 * them, and only there: a message that contains `<|im_end|>` contains just these characters.
 *
 * @param observer is told how long it took
 * @throws SluiceError `bad-input` where the template turns the conversation down, `context-full` as soon as it is certain
 *   that there are more than `most` tokens
 */
export function promptOf(
  template: ChatTemplate,
  tokenizer: Tokenizer,
  { most = Infinity, ...options }: RenderOptions & { readonly most?: number },
  observer?: Observer,
): ChatPrompt {
  const start = performance.now();
  if (leastTokens(options.messages, tokenizer) > most) throw tooMany(most);
  const shield = unusedCharacter(options.messages);
  const messages = guard(options.messages, tokenizer.controlTexts, shield) as ChatMessage[];
  const rendered = template.render({ ...tokenTexts(tokenizer), ...options, messages });
  const between = performance.now();
  const ids = encodePrompt(tokenizer, rendered, { shield, most });
  observer?.span("template", start, between);
  observer?.span("tokenize", between, performance.now(), ids.length);
  return { text: rendered.replaceAll(shield, ""), ids };
}

/**
 * Token ids of a rendered chat template: special tokens in the text are recognised, and there is exactly one BOS
 * where the model wants one, whether the template prints it or not (as in llama.cpp).
 */
export function encodePrompt(
  tokenizer: Tokenizer,
  rendered: string,
  options: Pick<EncodeOptions, "shield" | "most"> = {},
): number[] {
  const ids = tokenizer.encode(rendered, { special: true, ...options });
  const { addBos, bos } = tokenizer;
  return addBos && bos !== undefined && ids[0] !== bos ? [bos, ...ids] : ids;
}

/** The texts that templates know as `bos_token` and `eos_token`. */
export function tokenTexts(tokenizer: Tokenizer): { bosToken: string; eosToken: string } {
  const text = (id: number | undefined): string => {
    return id === undefined ? "" : decodeUtf8(tokenizer.bytes(id, true));
  };
  return { bosToken: text(tokenizer.bos), eosToken: text(tokenizer.eos) };
}

/** Tokens that the texts of messages have at least, whatever the template makes of them. */
function leastTokens(messages: readonly ChatMessage[], { longest }: Tokenizer): number {
  return messages.reduce((sum, message) => sum + Math.ceil(contentText(message).length / longest), 0);
}

/** One of Unicode's noncharacters (U+FDD0 … U+FDEF), which no text is meant to hold, that these do not. */
function unusedCharacter(messages: readonly ChatMessage[]): string {
  const all = JSON.stringify(messages);
  let code = 0xfdd0;
  while (code < 0xfdef && all.includes(String.fromCharCode(code))) code++;
  return String.fromCharCode(code);
}

/** Break up every control token in the texts of a value with the shield behind its first character. */
function guard(value: unknown, controlTexts: readonly string[], shield: string): unknown {
  if (typeof value === "string")
    return controlTexts.reduce(
      (text, control) =>
        control.length > 1 ? text.replaceAll(control, control[0] + shield + control.slice(1)) : text,
      value,
    );
  if (Array.isArray(value)) return value.map((item) => guard(item, controlTexts, shield));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === "role" ? item : guard(item, controlTexts, shield),
    ]),
  );
}
