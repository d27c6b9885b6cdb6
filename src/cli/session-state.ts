import { BLOCK_POSITIONS, KV_FORMAT, kvBlockBytes } from "../engine/kv-cache.ts";
import type { Model } from "../engine/model.ts";
import { createSampler } from "../engine/sampler.ts";
import type { SamplingOptions } from "../engine/types.ts";
import type { SessionModel, SessionSettings } from "../session-store/types.ts";
import { CACHE_FORMAT } from "../store/manifest.ts";
import { printableLine } from "./printable.ts";
import type { TalkOptions } from "./talk.ts";

/** What a saved KV cache has to agree with. */
export function sessionModel(model: Model): SessionModel {
  const { manifest } = model;
  const { kvType } = model.memory();
  return {
    name: manifest.model.name,
    architecture: manifest.model.architecture,
    source: manifest.source.name,
    fingerprint: manifest.source.fingerprint,
    dtype: manifest.dtype,
    cacheFormat: CACHE_FORMAT,
    kv: {
      type: kvType,
      format: KV_FORMAT,
      blockPositions: BLOCK_POSITIONS,
      blockBytes: kvBlockBytes(manifest.model, kvType),
    },
  };
}

/** Why a KV cache of one model is of no use for another, in words; undefined where it is. */
export function mismatch(saved: SessionModel, here: SessionModel): string | undefined {
  if (saved.fingerprint !== here.fingerprint)
    return `it was held with another model, ${printableLine(saved.name)} (${printableLine(saved.source)})`;
  if (saved.dtype !== here.dtype)
    return `it was held with weights in ${printableLine(saved.dtype)}, these are ${here.dtype}`;
  if (saved.kv.type !== here.kv.type)
    return `its KV cache is ${printableLine(saved.kv.type)}, this one ${here.kv.type}`;
  const same =
    saved.cacheFormat === here.cacheFormat &&
    saved.kv.format === here.kv.format &&
    saved.kv.blockPositions === here.kv.blockPositions &&
    saved.kv.blockBytes === here.kv.blockBytes;
  return same ? undefined : "another version of sluice saved its KV cache";
}

/** What of a chat's options is saved with the conversation. */
export function settingsOf({ sampling, maxTokens, template }: TalkOptions): SessionSettings {
  const { chatTemplateKwargs, date } = template;
  return {
    sampling,
    ...(maxTokens !== undefined && { maxTokens }),
    ...(chatTemplateKwargs && { variables: chatTemplateKwargs }),
    // With another day in the system prompt, nothing that was computed before could be used.
    ...(date && { date: date.toISOString() }),
  };
}

/**
 * A chat's options with those of a saved conversation.
 *
 * @param given names of the options that were given on the command line: these stay
 */
export function withSettings(
  options: TalkOptions,
  settings: SessionSettings,
  given: ReadonlySet<string>,
): TalkOptions {
  const { maxTokens, variables, date } = settings;
  const day = typeof date === "string" ? new Date(date) : undefined;
  const { template } = options;
  const isSound = day !== undefined && !Number.isNaN(day.getTime());
  return {
    ...options,
    sampling: withSampling(options.sampling, settings["sampling"], given),
    ...(!given.has("predict") && isCount(maxTokens) && { maxTokens }),
    template: {
      ...template,
      ...(!given.has("date") && isSound && { date: day }),
      ...(!given.has("chatTemplateKwargs") && isMap(variables) && { chatTemplateKwargs: variables }),
    },
  };
}

/** Names of the sampling options on the command line. */
const FLAGS: Readonly<Record<keyof SamplingOptions, string>> = {
  temperature: "temp",
  topK: "topK",
  topP: "topP",
  minP: "minP",
  repeatPenalty: "repeatPenalty",
  repeatLastN: "repeatLastN",
  seed: "seed",
};

function withSampling(options: SamplingOptions, saved: unknown, given: ReadonlySet<string>): SamplingOptions {
  if (!isMap(saved)) return options;
  const kept = Object.entries(FLAGS).filter(
    ([name, flag]) => !given.has(flag) && typeof saved[name] === "number",
  );
  const sampling = { ...options, ...Object.fromEntries(kept.map(([name]) => [name, saved[name]])) };
  try {
    createSampler(sampling);
    return sampling;
  } catch {
    // Numbers out of range: nobody but the file is to blame.
    return options;
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
