import type { BatchRequest } from "../../engine/batch/types.ts";
import type { Model } from "../../engine/model.ts";
import type { SamplingOptions } from "../../engine/types.ts";
import { SluiceError } from "../../errors.ts";
import { type PreparedPrompt, preparePrompt } from "../prepare-prompt.ts";
import type { Item } from "./items.ts";
import { type Question, questionOf } from "./question.ts";
import type { BatchSettings } from "./settings.ts";

/** A request, and the item that it is made of. */
export interface ItemRequest extends BatchRequest {
  readonly item: Item;
}

/**
 * What the model is asked for an item.
 *
 * @param onWarning is told where the model's template does not do
 * @throws SluiceError where the item makes no sense, or is longer than any context
 */
export function requestOf(
  model: Model,
  item: Item,
  settings: BatchSettings,
  defaults: SamplingOptions,
  onWarning: (warning: string) => void,
): ItemRequest {
  const question = questionOf(item, defaults);
  const { ids, warning } = promptOf(model, question, settings);
  if (warning) onWarning(warning);
  const { sampling, maxTokens: own, stop = settings.stop } = question;
  const maxTokens = own === undefined ? settings.predict : (own ?? -1);
  return { item, prompt: ids, sampling, ...(maxTokens >= 0 && { maxTokens }), ...(stop && { stop }) };
}

function promptOf(model: Model, question: Question, settings: BatchSettings): PreparedPrompt {
  const { prompt, variables, system = settings.system } = question;
  const { template } = settings;
  if (!template) {
    if (typeof prompt !== "string")
      throw new SluiceError("bad-input", "messages need the chat template: leave out --no-template");
    return preparePrompt(model, prompt, settings);
  }
  if (prompt === "") throw new SluiceError("bad-input", "the prompt is empty");
  const before = system === undefined ? [] : [{ role: "system", content: system }];
  const messages = typeof prompt === "string" ? [...before, { role: "user", content: prompt }] : prompt;
  const chatTemplateKwargs = { ...settings.chatTemplateKwargs, ...variables };
  return preparePrompt(model, messages, { ...settings, chatTemplateKwargs });
}
