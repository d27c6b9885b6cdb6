/** What a line typed into the chat asks for. */
export type ChatInput =
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "nothing" | "help" | "reset" | "stats" | "exit" }
  /** Set the system message; an empty text shows it, `-` takes it away. */
  | { readonly kind: "system"; readonly text: string }
  | { readonly kind: "unknown"; readonly name: string };

/** Words that models take as switches in a message: they are no commands of the chat. */
const MODEL_SWITCHES = new Set(["/think", "/no_think"]);

/** A line that starts with a slash and a word is a command; one that starts with a space never is. */
export function parseChatInput(line: string): ChatInput {
  if (line.trim() === "") return { kind: "nothing" };
  const [, name, rest] = /^(\/[a-z_]+)(?:\s+(.*))?$/is.exec(line) ?? [];
  if (name === undefined || MODEL_SWITCHES.has(name)) return { kind: "message", text: line };
  switch (name) {
    case "/help":
    case "/reset":
    case "/stats":
    case "/exit":
      return { kind: name.slice(1) as "help" | "reset" | "stats" | "exit" };
    case "/system":
      return { kind: "system", text: (rest ?? "").trim() };
    default:
      return { kind: "unknown", name };
  }
}

export const CHAT_HELP = `/system TEXT  set the system message (nothing: show it; -: take it away)
/reset        forget the conversation
/stats        tokens and times of the last answer, by layer
/exit         leave (so does Ctrl-D)
/help         this list
"""           starts a message of several lines; """ at the end of a line ends it
Ctrl-C        stops an answer; again: leaves
/think and /no_think go to the model. Put a space before any other message that starts with a slash.`;

/** What the user enters next: a line, or the lines between two `"""`. Undefined at the end of the input. */
export async function readChatInput(
  next: (prompt: string) => Promise<string | undefined>,
): Promise<ChatInput | undefined> {
  const first = await next("> ");
  if (first === undefined) return undefined;
  if (!first.startsWith(FENCE)) return parseChatInput(first);
  let text = first.slice(FENCE.length);
  while (!text.trimEnd().endsWith(FENCE)) {
    const line = await next(". ");
    if (line === undefined) return message(text);
    text += `\n${line}`;
  }
  return message(text.trimEnd().slice(0, -FENCE.length));
}

const FENCE = '"""';

function message(text: string): ChatInput {
  return text.trim() === "" ? { kind: "nothing" } : { kind: "message", text: text.replace(/^\n|\n$/g, "") };
}
