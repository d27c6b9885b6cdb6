import { type Command, InvalidArgumentError, Option } from "commander";
import { createSampler, SAMPLING_DEFAULTS } from "../engine/sampler.ts";
import type { SamplingOptions } from "../engine/types.ts";
import { SluiceError } from "../errors.ts";

/** Parser of an option that takes any number. */
export function parseNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new InvalidArgumentError("It must be a number.");
  return value;
}

/** Parser of an option that takes whole numbers from `least` up, or up to `most`. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isSafeInteger(value) || value < least || value > most) {
      const named = most < Number.MAX_SAFE_INTEGER || value > most;
      throw new InvalidArgumentError(
        `It must be a whole number from ${least} ${named ? `to ${most}` : "up"}.`,
      );
    }
    return value;
  };
}

function parsePredict(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(value) || value < -1 || value === 0)
    throw new InvalidArgumentError("It must be a whole number from 1 up, or -1.");
  return value;
}

export interface GenerationFlags {
  predict: number;
  ctxSize?: number;
  temp: number;
  topK: number;
  topP: number;
  minP: number;
  repeatPenalty: number;
  repeatLastN: number;
  seed: number;
}

/** Options of how much to generate and how to choose tokens, named as in llama.cpp. */
export function addGenerationOptions(command: Command): Command {
  const d = SAMPLING_DEFAULTS;
  const number = (flags: string, description: string, value: number) =>
    new Option(flags, description).argParser(parseNumber).default(value);
  return command
    .addOption(
      new Option("-n, --predict <n>", "tokens to generate at most; -1: until the model ends")
        .argParser(parsePredict)
        .default(-1),
    )
    .addOption(
      new Option(
        "-c, --ctx-size <n>",
        "longest conversation in tokens (default: as the model allows)",
      ).argParser(wholeNumber(1)),
    )
    .addOption(number("--temp <t>", "randomness; 0 takes the most probable token", d.temperature))
    .addOption(number("--top-k <k>", "keep the k most probable tokens; 0 keeps all", d.topK))
    .addOption(number("--top-p <p>", "keep the tokens that together reach this probability", d.topP))
    .addOption(number("--min-p <p>", "keep tokens at least this likely beside the best one", d.minP))
    .addOption(
      number("--repeat-penalty <x>", "weaken tokens that were there recently; 1 is off", d.repeatPenalty),
    )
    .addOption(number("--repeat-last-n <n>", "how many tokens count as recent", d.repeatLastN))
    .addOption(
      new Option("-s, --seed <n>", "same seed, same text; -1: a random one")
        .argParser(wholeNumber(-1))
        .default(-1),
    );
}

/** Parser of an option that may be given several times. */
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** Beyond it all tokens are as likely as not. */
const MOST_TEMPERATURE = 100;

/** @throws SluiceError `bad-input` naming an option that is out of its range, or makes no sense */
export function checkSampling(sampling: SamplingOptions): void {
  createSampler(sampling);
  const { temperature = 0 } = sampling;
  if (temperature > MOST_TEMPERATURE)
    throw new SluiceError(
      "bad-input",
      `temperature is ${temperature}, but must be a number from 0 to ${MOST_TEMPERATURE}`,
    );
}

/** Sampling options from the command line; a value out of range is a usage error of `command`. */
export function samplingOptions(flags: GenerationFlags, command: Command): SamplingOptions {
  const sampling: SamplingOptions = {
    temperature: flags.temp,
    topK: flags.topK,
    topP: flags.topP,
    minP: flags.minP,
    repeatPenalty: flags.repeatPenalty,
    repeatLastN: flags.repeatLastN,
    ...(flags.seed >= 0 && { seed: flags.seed }),
  };
  try {
    checkSampling(sampling);
  } catch (error) {
    if (error instanceof SluiceError) command.error(`error: ${error.message}`);
    throw error;
  }
  return sampling;
}
