import { readFileSync } from "node:fs";
import { addAbortSignal } from "node:stream";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { SluiceError, throwIfAborted } from "../errors.ts";
import { interruptSignal } from "./interrupt.ts";

export interface PromptFlags {
  prompt?: string;
  file?: string;
  messages?: string;
  system?: string;
  /** False with `--no-template`. */
  template: boolean;
}

/** Where the prompt comes from, as the command line says. */
export type PromptSource =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "stdin" }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "messages"; readonly path: string };

/** The one source of the prompt; none, several, or options that contradict it are usage errors of `command`. */
export function promptSource(flags: PromptFlags, command: Command): PromptSource {
  const { prompt, file, messages, system, template } = flags;
  const given = [prompt, file, messages].filter((value) => value !== undefined);
  if (given.length === 0) command.error("error: no prompt: give one of -p TEXT, -f FILE, --messages FILE");
  if (given.length > 1) command.error("error: more than one prompt: give only one of -p, -f, --messages");
  if (messages !== undefined && !template) {
    command.error("error: --messages needs the chat template: leave out --no-template");
  }
  if (system !== undefined && !template) {
    command.error("error: --system needs the chat template: leave out --no-template");
  }
  if (system !== undefined && messages !== undefined) {
    command.error("error: --messages holds the whole conversation: put the system message there");
  }
  if (messages !== undefined) return { kind: "messages", path: messages };
  if (file !== undefined) return { kind: "file", path: file };
  return prompt === "-" ? { kind: "stdin" } : { kind: "text", text: prompt as string };
}

/** The text of a prompt that is not a conversation. One newline at the end of a file or of stdin is left out. */
export async function readPrompt(source: Exclude<PromptSource, { kind: "messages" }>): Promise<string> {
  if (source.kind === "text") return source.text;
  const content = source.kind === "file" ? readTextFile(source.path) : await readStdin();
  return content.replace(/\r?\n$/, "");
}

function readTextFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new SluiceError("io", `cannot read ${path}: ${(error as Error).message}`, {
      next: "Check the path given with -f.",
      cause: error,
    });
  }
}

async function readStdin(): Promise<string> {
  try {
    return await text(addAbortSignal(interruptSignal, process.stdin));
  } catch (error) {
    throwIfAborted(interruptSignal);
    throw error;
  }
}
