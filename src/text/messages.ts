import { SluiceError } from "../errors.ts";
import type { ChatMessage } from "./types.ts";

/**
 * A conversation from JSON: a list of objects with a `role` and a `content`, which is text, null, or a list of
 * `{"type": "text", "text": …}` parts; or an object that has such a list as its `messages`. Other fields are kept for the chat template.
 *
 * @param source what to call the JSON in errors.
 * @throws SluiceError `bad-input` that says what is wrong, and with which message (counted from 1)
 */
export function parseMessages(json: string, source: string): ChatMessage[] {
  let messages: unknown;
  try {
    messages = JSON.parse(json);
  } catch (cause) {
    throw wrong(source, `is not JSON: ${(cause as Error).message}`, cause);
  }
  // As `sluice sessions export` writes a conversation.
  if (typeof messages === "object" && messages !== null && "messages" in messages)
    messages = messages.messages;
  if (!Array.isArray(messages)) throw wrong(source, "holds no list of messages");
  if (messages.length === 0) throw wrong(source, "holds an empty list of messages");
  messages.forEach((message, i) => {
    const problem = problemOf(message);
    if (problem !== undefined) throw wrong(source, `message ${i + 1} of ${messages.length} ${problem}`);
  });
  return messages;
}

function problemOf(message: unknown): string | undefined {
  if (typeof message !== "object" || message === null || Array.isArray(message)) return "is no object";
  if (isDeeperThan(message, MAX_DEPTH)) return `is nested more than ${MAX_DEPTH} levels deep`;
  const { role, content } = message as Record<string, unknown>;
  if (typeof role !== "string") return role === undefined ? "has no role" : "has a role that is no text";
  if (content === undefined) return "has no content";
  if (typeof content === "string" || content === null) return undefined;
  if (!Array.isArray(content)) return "has a content that is neither text, null nor a list of parts";
  const odd = content.findIndex((part) => part?.type !== "text" || typeof part.text !== "string");
  if (odd < 0) return undefined;
  const type = content[odd]?.type;
  return typeof type === "string" && type !== "text"
    ? `has a part of type ${JSON.stringify(type)}: sluice knows only text`
    : `has a part (${odd + 1}) that is not {"type": "text", "text": …}`;
}

/** Templates, and what is done with messages before them, go down by recursion. */
const MAX_DEPTH = 100;

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

function wrong(source: string, problem: string, cause?: unknown): SluiceError {
  return new SluiceError("bad-input", `${source}: ${problem}`, {
    next: 'It should look like this: [{"role": "user", "content": "Hello"}]',
    cause,
  });
}

/** All text of a message's content, its parts on lines of their own; null is no text. */
export function contentText(message: ChatMessage): string {
  const content: unknown = message.content;
  if (Array.isArray(content)) return content.map((part) => part?.text ?? "").join("\n");
  return typeof content === "string" ? content : "";
}
