/** Conversations for people and other programs. */
import { contentText } from "../text/messages.ts";
import type { ChatMessage } from "../text/types.ts";
import type { Head } from "./head.ts";

/** A conversation in Markdown: a heading for each message, the texts as they are. */
export function toMarkdown(name: string, { model, created, changed, messages }: Head): string {
  const about = [`Model: ${model.name} (${model.source}, ${model.dtype})`, `From ${created} to ${changed}`];
  const parts = messages.map(
    (message) => `## ${speaker(message, model.name)}\n\n${contentText(message).trim()}`,
  );
  return `${[`# ${name}`, about.join("  \n"), ...parts].join("\n\n")}\n`;
}

function speaker({ role }: ChatMessage, model: string): string {
  if (role === "user") return "You";
  if (role === "assistant") return model;
  return role === "system" ? "System" : role;
}

/** A conversation as a value for JSON; `messages` is what `sluice run --messages` takes. */
export function toJson(name: string, { blocks: _, ids, model, ...head }: Head): object {
  const { kv, ...rest } = model;
  return { name, ...head, model: { ...rest, kv: kv.type }, tokens: ids.length };
}

/** The first question, on one line: what a conversation is about. */
export function titleOf({ messages }: Pick<Head, "messages">): string {
  const first = messages.find(({ role }) => role === "user");
  return first ? contentText(first).replace(/\s+/g, " ").trim() : "";
}
