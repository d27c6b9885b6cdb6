import { decodeUtf8 } from "../../text/utf8.ts";
import { printableLine } from "../printable.ts";
import type { Talk } from "../talk.ts";
import { tell } from "../tell.ts";
import type { ChatCommand } from "./command.ts";
import { shortened } from "./undo.ts";

export const tokens: ChatCommand = {
  name: "tokens",
  usage: "[TEXT]",
  summary: "how full the context is, turn by turn; or the tokens of a text",
  rare: true,
  run: (talk, text) => tell((text === "" ? contextLines(talk) : textLines(talk, text)).join("\n")),
};

function contextLines({ model, session, conversation }: Talk): string[] {
  const { tokenizer, contextLength } = model;
  const count = (text: string) => String(tokenizer.encode(text).length).padStart(7);
  const { system, turns, forgotten } = conversation;
  const read = turns.slice(forgotten);
  const used = session.ids.length;
  return [
    "Tokens of each question + its answer:",
    ...(system === "" ? [] : [`${count(system)}  system message`]),
    ...(forgotten === 0 ? [] : [`      -  ${forgotten} dropped ${forgotten === 1 ? "turn" : "turns"}`]),
    ...read.map(
      ({ question, answer }) => `${count(question)} + ${count(answer).trim()}  ${shortened(question)}`,
    ),
    `${String(used).padStart(7)}  of ${contextLength} in the KV cache: these, and what the chat template adds (marks, its own system prompt); ${contextLength - used} are free`,
  ];
}

function textLines({ model }: Talk, text: string): string[] {
  const { tokenizer } = model;
  const ids = tokenizer.encode(text);
  const pieces = ids.map(
    (id) => `${id} ${JSON.stringify(printableLine(decodeUtf8(tokenizer.bytes(id, true))))}`,
  );
  return [`${ids.length} ${ids.length === 1 ? "token" : "tokens"}: ${pieces.join(", ")}`];
}
