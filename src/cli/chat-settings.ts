/** What can be changed while a chat goes on: `/set`. */
import { SAMPLING_DEFAULTS } from "../engine/sampler.ts";
import type { SamplingOptions } from "../engine/types.ts";
import { SluiceError } from "../errors.ts";
import { nearest } from "./nearest.ts";
import { checkSampling } from "./options.ts";
import { OVERFLOWS, type Overflow } from "./overflow.ts";

export interface ChatSettings {
  readonly sampling: SamplingOptions;
  /** Tokens of an answer at most; undefined: until the model ends. */
  readonly maxTokens?: number | undefined;
  readonly overflow: Overflow;
}

/** How thoughts are dealt with: shown, not wanted from the model, or left out of what is shown. */
export const THINK_MODES = ["on", "off", "hide"] as const;
export type ThinkMode = (typeof THINK_MODES)[number];

interface Setting {
  readonly name: string;
  readonly summary: string;
  /** As a user reads and writes it. */
  show(settings: ChatSettings): string;
  /**
   * @param typed the name as the user wrote it
   * @throws SluiceError `bad-input` for a value that makes no sense
   */
  change(settings: ChatSettings, value: string, typed: string): ChatSettings;
}

function sampling(name: string, key: keyof typeof SAMPLING_DEFAULTS, summary: string): Setting {
  return {
    name,
    summary,
    show: (settings) => String(settings.sampling[key] ?? SAMPLING_DEFAULTS[key]),
    change: (settings, value, typed) =>
      withSampling(settings, { [key]: numberOf(typed, value, SAMPLING_DEFAULTS[key]) }, typed),
  };
}

/** In the order of the list; named as the options of the command line. */
export const SETTINGS: readonly Setting[] = [
  sampling("temp", "temperature", "randomness; 0 takes the most probable token"),
  sampling("top-k", "topK", "keep the k most probable tokens; 0 keeps all"),
  sampling("top-p", "topP", "keep the tokens that together reach this probability"),
  sampling("min-p", "minP", "keep tokens at least this likely beside the best one"),
  sampling("repeat-penalty", "repeatPenalty", "weaken tokens that were there recently; 1 is off"),
  sampling("repeat-last-n", "repeatLastN", "how many tokens count as recent"),
  {
    name: "seed",
    summary: "same seed, same text; -1: a random one",
    show: ({ sampling }) => String(sampling.seed ?? -1),
    change(settings, value, typed) {
      const seed = numberOf(typed, value, -1);
      if (!Number.isSafeInteger(seed) || seed < -1)
        throw refusal(`${typed} is ${value}, but must be a whole number from 0 up, or -1`);
      const { seed: _, ...others } = settings.sampling;
      return seed === -1 ? { ...settings, sampling: others } : withSampling(settings, { seed }, typed);
    },
  },
  {
    name: "predict",
    summary: "tokens of an answer at most; -1: until the model ends",
    show: ({ maxTokens }) => String(maxTokens ?? -1),
    change(settings, value, typed) {
      const most = numberOf(typed, value, -1);
      if (!Number.isSafeInteger(most) || most < -1 || most === 0)
        throw refusal(`${typed} is ${value}, but must be a whole number from 1 up, or -1`);
      return { ...settings, maxTokens: most < 0 ? undefined : most };
    },
  },
  {
    name: "overflow",
    summary: "where the context is full: stop, or slide (drop the oldest turns)",
    show: ({ overflow }) => overflow,
    change(settings, value, typed) {
      const overflow = value === "default" ? "stop" : OVERFLOWS.find((known) => known === value);
      if (overflow === undefined) throw refusal(`${typed} is ${value}, but must be stop or slide`);
      return { ...settings, overflow };
    },
  },
];

/** The setting of this name; `temperature` and `top_k` are understood as well. @throws SluiceError `bad-input` */
export function findSetting(typed: string): Setting {
  const name = typed.toLowerCase().replace(/^--/, "").replaceAll("_", "-");
  const found = SETTINGS.find((setting) => setting.name === (name === "temperature" ? "temp" : name));
  if (found) return found;
  const meant = nearest(
    name,
    SETTINGS.map((setting) => setting.name),
  );
  throw refusal(
    `there is no setting ${typed}`,
    `${meant === undefined ? "" : `Did you mean ${meant}? `}/set lists what there is.`,
  );
}

function withSampling(settings: ChatSettings, change: SamplingOptions, typed: string): ChatSettings {
  const sampling = { ...settings.sampling, ...change };
  try {
    checkSampling(sampling);
  } catch (error) {
    // It has names of its own for the options.
    if (error instanceof SluiceError) throw refusal(error.message.replace(/^.*? is /, `${typed} is `));
    throw error;
  }
  return { ...settings, sampling };
}

function numberOf(name: string, value: string, otherwise: number): number {
  if (value === "default") return otherwise;
  const number = Number(value);
  if (value === "" || !Number.isFinite(number)) throw refusal(`${name} is ${value}, but must be a number`);
  return number;
}

function refusal(message: string, next?: string): SluiceError {
  return new SluiceError("bad-input", message, { ...(next !== undefined && { next }) });
}
