import type { Model } from "../engine/model.ts";
import { type ChatPrompt, promptOf } from "../text/prompt.ts";
import { printableLine } from "./printable.ts";
import type { Prompt } from "./prompt-source.ts";
import { type TemplateFlags, templateSettings } from "./template-options.ts";

/** What the model reads: its text, and the ids of it. */
export interface PreparedPrompt extends ChatPrompt {
  /** What to tell the user where ChatML had to stand in for the model's template. */
  readonly warning?: string;
}

/** How many times over a conversation may exceed the context: of one that slides the beginning is dropped. */
const MOST_CONTEXTS = 16;

/** Put messages through the chat template, or take a text as it is. */
export function preparePrompt(model: Model, prompt: Prompt, flags: TemplateFlags): PreparedPrompt {
  const { tokenizer, observer } = model;
  const most = MOST_CONTEXTS * model.contextLength;
  if (typeof prompt === "string") {
    const start = performance.now();
    const ids = tokenizer.encode(prompt, { bos: true, most });
    observer?.span("tokenize", start, performance.now(), ids.length);
    return { text: prompt, ids };
  }
  const { template = model.template, ...settings } = templateSettings(flags);
  const prepared = promptOf(template, tokenizer, { messages: prompt, most, ...settings }, observer);
  const warning = template.fallback && `sluice: ${printableLine(template.fallback)}: using ChatML instead`;
  return { ...prepared, ...(warning && { warning }) };
}
