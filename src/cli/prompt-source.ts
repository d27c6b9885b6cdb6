import { existsSync } from "node:fs";
import type { Command } from "commander";
import { isStoreName } from "../models-on-disk/find-model.ts";
import { parseMessages } from "../text/messages.ts";
import type { ChatMessage } from "../text/types.ts";
import { printableLine } from "./printable.ts";
import { readText } from "./read-input.ts";

export interface PromptFlags {
  prompt?: string;
  file?: string;
  messages?: string;
  system?: string;
  systemFile?: string;
  /** False with `--no-template`. */
  template: boolean;
}

/** Names the options that the command has. */
function noPrompt(command: Command): string {
  const [model] = command.args;
  if (model !== undefined && !existsSync(model) && !isStoreName(model) && !/\.gguf$/i.test(model)) {
    const text = JSON.stringify(printableLine(model));
    return `error: no prompt: ${text} was taken for the model; a prompt is given with -p: sluice ${command.name()} -p ${text}`;
  }
  const messages = command.options.some(({ long }) => long === "--messages") ? "--messages FILE, " : "";
  return `error: no prompt: give one of -p TEXT, -f FILE, ${messages}or text on stdin`;
}

const EMPTY =
  "error: the prompt is empty: give it some text, or let the model begin one by itself with --no-template";

/** Where the prompt comes from, as the command line says. */
export type PromptSource =
  | { readonly kind: "text"; readonly text: string }
  /** In a file; `-` is stdin. */
  | { readonly kind: "file" | "messages"; readonly path: string };

/**
 * The one source of the prompt; without one it is stdin, unless that is a terminal. None, several, or options that
 * contradict it are usage errors of `command`.
 */
export function promptSource(
  flags: PromptFlags,
  command: Command,
  stdin: { readonly isTTY?: boolean } = process.stdin,
): PromptSource {
  const { prompt, file, messages, template } = flags;
  const system = flags.system ?? flags.systemFile;
  const given = [prompt, file, messages].filter((value) => value !== undefined);
  if (given.length === 0 && stdin.isTTY) command.error(noPrompt(command));
  if (given.length > 1) command.error("error: more than one prompt: give only one of -p, -f, --messages");
  if (messages !== undefined && !template) {
    command.error("error: --messages needs the chat template: leave out --no-template");
  }
  if (flags.system !== undefined && flags.systemFile !== undefined) {
    command.error("error: more than one system message: give --system or --system-file, not both");
  }
  if (file === "-" || messages === "-" || given.length === 0 || prompt === "-") {
    if (flags.systemFile === "-") command.error("error: stdin cannot be both prompt and system message");
  }
  if (system !== undefined && !template) {
    command.error("error: --system needs the chat template: leave out --no-template");
  }
  if (system !== undefined && messages !== undefined) {
    command.error("error: --messages holds the whole conversation: put the system message there");
  }
  if (messages !== undefined) return { kind: "messages", path: messages };
  if (file !== undefined) return { kind: "file", path: file };
  return prompt === undefined || prompt === "-"
    ? { kind: "file", path: "-" }
    : { kind: "text", text: prompt };
}

/** A text for the model to continue, or messages for the chat template. */
export type Prompt = string | readonly ChatMessage[];

/** Read the prompt. One newline at the end of a file or of stdin is left out. */
export async function readPrompt(
  source: PromptSource,
  flags: PromptFlags,
  command: Command,
): Promise<Prompt> {
  const { template, systemFile } = flags;
  if (source.kind === "messages") {
    return parseMessages(await readText(source.path), source.path === "-" ? "stdin" : source.path);
  }
  const text = source.kind === "text" ? source.text : await readBlock(source.path);
  if (text === "" && source.kind === "file" && source.path === "-") command.error(noPrompt(command));
  // A model continues from its first token alone, where it has one; a chat has nothing to answer.
  if (!template) return text;
  if (text === "") command.error(EMPTY);
  const system = systemFile === undefined ? flags.system : await readBlock(systemFile);
  const message = { role: "user", content: text };
  return system === undefined ? [message] : [{ role: "system", content: system }, message];
}

/** Without the newline that ends the last line. */
export async function readBlock(path: string): Promise<string> {
  return (await readText(path)).replace(/\r?\n$/, "");
}
