import { findCommand } from "./chat-commands/index.ts";
import type { Entry } from "./line-input.ts";

/** What a line typed into the chat asks for. */
export type ChatInput =
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "command"; readonly name: string; readonly argument: string }
  | { readonly kind: "nothing" };

/** A word that models take as a switch in a message: it is no command of the chat. */
const MODEL_SWITCH = "no_think";

/** A line that starts with a slash and a word is a command; one that starts with a space never is. */
export function parseChatInput(line: string): ChatInput {
  if (line.trim() === "") return { kind: "nothing" };
  const [, name, rest = ""] = /^\/([a-z_]+|(?=\s*$))(?:\s+(.*))?$/is.exec(line) ?? [];
  const argument = rest.trim();
  if (name === undefined || name === MODEL_SWITCH || findCommand(name)?.takes?.(argument) === false)
    return { kind: "message", text: line };
  return { kind: "command", name, argument };
}

/**
 * What the user enters next: a line, or the lines between two `"""`, which are nothing where they are given up.
 * Undefined at the end of the input.
 *
 * @param next asks for a line; the further ones of a message are optional
 */
export async function readChatInput(
  next: (prompt: string, optional: boolean) => Promise<Entry>,
): Promise<ChatInput | undefined> {
  const first = await next("> ", false);
  if (typeof first !== "string") return undefined;
  if (!first.startsWith(FENCE)) return parseChatInput(first);
  let text = first.slice(FENCE.length);
  while (!text.trimEnd().endsWith(FENCE)) {
    const line = await next(". ", true);
    if (line === undefined) return message(text);
    if (typeof line !== "string") return { kind: "nothing" };
    text += `\n${line}`;
  }
  return message(text.trimEnd().slice(0, -FENCE.length));
}

const FENCE = '"""';

function message(text: string): ChatInput {
  return text.trim() === "" ? { kind: "nothing" } : { kind: "message", text: text.replace(/^\n|\n$/g, "") };
}
