import type { SamplingOptions } from "../../engine/types.ts";
import { SluiceError } from "../../errors.ts";
import { parseMessages } from "../../text/messages.ts";
import type { ChatMessage } from "../../text/types.ts";
import { checkSampling } from "../options.ts";
import type { Item } from "./items.ts";

/** What a line asks for. What it does not say, the command line does. */
export interface Question {
  readonly id: string | number;
  readonly prompt: string | readonly ChatMessage[];
  readonly system?: string;
  readonly sampling: SamplingOptions;
  /** Undefined: as the command line says; null: until the model ends. */
  readonly maxTokens?: number | null;
  readonly stop?: readonly string[];
  readonly variables?: Readonly<Record<string, unknown>>;
  /** What means nothing to sluice. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The fields of a line that set the sampler, named as on the command line and in OpenAI's interface. */
const SAMPLING: Readonly<Record<string, keyof SamplingOptions>> = {
  temperature: "temperature",
  top_k: "topK",
  top_p: "topP",
  min_p: "minP",
  repeat_penalty: "repeatPenalty",
  repeat_last_n: "repeatLastN",
  seed: "seed",
};
const LENGTHS = ["max_tokens", "max_completion_tokens"];
const OTHERS = ["id", "prompt", "messages", "system", "stop", "chat_template_kwargs"];
const KNOWN = new Set([...Object.keys(SAMPLING), ...LENGTHS, ...OTHERS]);

/** What to call an item in the output. */
export function idOf({ content, line }: Item): string | number {
  const value = "value" in content && isObject(content.value) ? content.value["id"] : undefined;
  const usable = (typeof value === "string" && value !== "") || isExact(value);
  return usable ? value : line;
}

/** Whether a number is what was written: JSON's integers beyond 2^53 and numbers beyond 1e308 come as others. */
function isExact(value: unknown): value is number {
  if (typeof value !== "number" || !Number.isFinite(value)) return false;
  return !Number.isInteger(value) || Number.isSafeInteger(value);
}

/** Fields of an item that mean nothing to sluice. */
export function otherFields({ content }: Item): Record<string, unknown> {
  const value = "value" in content && isObject(content.value) ? content.value : {};
  return Object.fromEntries(Object.entries(value).filter(([name]) => !KNOWN.has(name)));
}

/**
 * What an item asks for: a text is a prompt, an object says more.
 *
 * @throws SluiceError `bad-input` where it makes no sense
 */
export function questionOf(item: Item, defaults: SamplingOptions): Question {
  const { content, cells } = item;
  if ("error" in content) throw content.error;
  const fromText = cells !== undefined;
  const given = typeof content.value === "string" ? { prompt: content.value } : content.value;
  if (!isObject(given)) throw wrong('the line is neither a text nor an object with "prompt" or "messages"');
  const fields = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== null && !(fromText && value === "")),
  );
  const { id } = fields;
  if (typeof id === "number" && !isExact(id))
    throw wrong("its id is a number that cannot be kept as it is written: put it in quotes");
  const system = textOf(fields, "system");
  const stop = stopOf(fields["stop"]);
  const maxTokens = lengthOf(fields, fromText);
  const variables = variablesOf(fields["chat_template_kwargs"], fromText);
  return {
    id: idOf(item),
    prompt: promptOf(fields, fromText),
    sampling: samplingOf(fields, fromText, defaults),
    ...(system !== undefined && { system }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(stop && { stop }),
    ...(variables && { variables }),
    fields: otherFields(item),
  };
}

function promptOf(fields: Record<string, unknown>, fromText: boolean): Question["prompt"] {
  const prompt = textOf(fields, "prompt");
  const { messages } = fields;
  if (prompt !== undefined && messages !== undefined) throw wrong("it has both a prompt and messages");
  if (messages !== undefined) {
    if (textOf(fields, "system") !== undefined)
      throw wrong("messages hold the whole conversation: the system message belongs there");
    return parseMessages(fromText ? `${messages}` : JSON.stringify(messages), "messages");
  }
  if (prompt === undefined) throw wrong("it has neither a prompt nor messages");
  return prompt;
}

function samplingOf(
  fields: Record<string, unknown>,
  fromText: boolean,
  defaults: SamplingOptions,
): SamplingOptions {
  const own = Object.entries(SAMPLING).flatMap(([name, key]) =>
    fields[name] === undefined ? [] : [[key, numberOf(fields, name, fromText)] as const],
  );
  const { seed, ...sampling }: SamplingOptions = { ...defaults, ...Object.fromEntries(own) };
  // As on the command line: a random one.
  const all = seed === undefined || seed === -1 ? sampling : { ...sampling, seed };
  checkSampling(all);
  return all;
}

function lengthOf(fields: Record<string, unknown>, fromText: boolean): number | null | undefined {
  const name = LENGTHS.find((name) => fields[name] !== undefined);
  if (name === undefined) return undefined;
  const length = numberOf(fields, name, fromText);
  if (length === -1) return null;
  if (Number.isSafeInteger(length) && length >= 1) return length;
  throw wrong(`${name} is ${length}, but must be a whole number from 1 up, or -1`);
}

function stopOf(value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (texts.every((text) => typeof text === "string" && text !== "")) return texts as readonly string[];
  throw wrong("stop must be a text or a list of texts, none of them empty");
}

function variablesOf(value: unknown, fromText: boolean): Record<string, unknown> | undefined {
  if (value === undefined) return undefined;
  let variables = value;
  try {
    if (fromText) variables = JSON.parse(`${value}`);
  } catch {
    // It is told below.
  }
  if (isObject(variables)) return variables;
  throw wrong("chat_template_kwargs must be an object");
}

function textOf(fields: Record<string, unknown>, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || typeof value === "string") return value;
  throw wrong(`${name} is ${JSON.stringify(value)?.slice(0, 50)}, but must be a text`);
}

function numberOf(fields: Record<string, unknown>, name: string, fromText: boolean): number {
  const value = fields[name];
  const number = fromText && typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number === "number" && Number.isFinite(number)) return number;
  throw wrong(`${name} is ${JSON.stringify(value)?.slice(0, 50)}, but must be a number`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wrong(problem: string): SluiceError {
  return new SluiceError("bad-input", problem);
}
