import { contentText } from "./messages.ts";
import type { ChatMessage } from "./types.ts";

// Templates differ in what messages they can take, and many drop what they do not know without a word. What one can
// take is found by trying, as llama.cpp does, and messages are put into that shape.

/** What a template makes of these messages, or undefined where it fails or refuses. */
export type TryRender = (messages: readonly ChatMessage[]) => string | undefined;

const PROBE = "sluice probe";
const asParts = (text: string): ChatMessage["content"] => {
  return [{ type: "text", text }] as unknown as string;
};

/**
 * The same conversation in a shape that the template prints in full: a system message becomes part of the first
 * user message, lists of text parts become text, and text becomes a list of parts, each only where need be.
 */
export function fitMessages(messages: readonly ChatMessage[], render: TryRender): readonly ChatMessage[] {
  const prints = (...probe: ChatMessage[]): boolean => render(probe)?.includes(PROBE) ?? false;
  const takesText = prints({ role: "user", content: PROBE });
  const takesParts = (): boolean => {
    const printed = render([{ role: "user", content: asParts(PROBE) }]) ?? "";
    // Some templates print the list itself.
    return printed.includes(PROBE) && !/["']type["']/.test(printed);
  };
  let fitted = messages;
  if (!takesText && takesParts()) {
    fitted = fitted.map((message) => {
      return typeof message.content === "string"
        ? { ...message, content: asParts(message.content) }
        : message;
    });
  } else if (fitted.some(isTextParts) && !takesParts()) {
    fitted = fitted.map((message) => {
      return isTextParts(message) ? { ...message, content: contentText(message) } : message;
    });
  }
  const question = { role: "user", content: "Hello" };
  if (fitted[0]?.role === "system" && takesText && !prints({ role: "system", content: PROBE }, question)) {
    fitted = foldSystem(fitted);
  }
  return fitted;
}

function isTextParts(message: ChatMessage): boolean {
  const content: unknown = message.content;
  return Array.isArray(content) && content.every((part) => part?.type === "text");
}

/** The system message in front of the first user message. */
function foldSystem([system, ...others]: readonly ChatMessage[]): readonly ChatMessage[] {
  const [first, ...rest] = others;
  const text = contentText(system);
  if (first?.role !== "user") return [{ role: "user", content: text }, ...others];
  return [{ ...first, content: `${text}\n${contentText(first)}` }, ...rest];
}
