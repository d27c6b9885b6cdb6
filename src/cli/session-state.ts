import { BLOCK_POSITIONS, KV_FORMAT, kvBlockBytes } from "../engine/kv-block.ts";
import type { Model } from "../engine/model.ts";
import { isLong } from "../engine/rope-table.ts";
import { createSampler } from "../engine/sampler.ts";
import type { SamplingOptions } from "../engine/types.ts";
import type { SessionModel, SessionSettings } from "../session-store/types.ts";
import { CACHE_FORMAT } from "../store/manifest.ts";
import { DTYPES } from "../store/types.ts";
import { THINK_MODES } from "./chat-settings.ts";
import { OVERFLOWS } from "./overflow.ts";
import { printableLine } from "./printable.ts";
import type { Talk } from "./talk.ts";

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
      ...(isLong(manifest.model.rope, model.contextLength) && { longRope: true }),
    },
  };
}

/** Why a KV cache of one model is of no use for another, in words; undefined where it is. */
export function mismatch(saved: SessionModel, here: SessionModel): string | undefined {
  if (saved.fingerprint !== here.fingerprint)
    return `the conversation was held with another model, ${printableLine(saved.name)} (${printableLine(saved.source)})`;
  if (saved.dtype !== here.dtype)
    return `the conversation was held with weights in ${printableLine(saved.dtype)}, these are ${here.dtype}${takesUp(saved)}`;
  if (saved.kv.type !== here.kv.type)
    return `the saved one is ${printableLine(saved.kv.type)}, this one ${here.kv.type}`;
  const { longRope = false } = saved.kv;
  if (longRope !== (here.kv.longRope ?? false))
    return `the conversation was held in a ${longRope ? "longer" : "shorter"} context (-c), for which the model's positions are others`;
  const same =
    saved.cacheFormat === here.cacheFormat &&
    saved.kv.format === here.kv.format &&
    saved.kv.blockPositions === here.kv.blockPositions &&
    saved.kv.blockBytes === here.kv.blockBytes;
  return same ? undefined : "another version of sluice saved it";
}

function takesUp({ dtype }: SessionModel): string {
  return DTYPES.some((known) => known === dtype) ? ` (--dtype ${dtype} takes it up as it was)` : "";
}

/** What a chat is made of that is saved as it is. */
export type ChatState = Pick<Talk, "settings" | "template" | "think">;

/** What of a chat is saved with the messages. */
export function settingsOf({ settings, template, think }: ChatState): SessionSettings {
  const { sampling, maxTokens, overflow } = settings;
  const { chatTemplateKwargs, date } = template;
  return {
    sampling,
    overflow,
    ...(maxTokens !== undefined && { maxTokens }),
    ...(think !== undefined && { think }),
    ...(chatTemplateKwargs && { variables: chatTemplateKwargs }),
    // With another day in the system prompt, nothing that was computed before could be used.
    ...(date && { date: date.toISOString() }),
  };
}

/**
 * The state of a chat with what was saved of another.
 *
 * @param given names of the options that were given on the command line: these stay
 */
export function withSettings(
  { settings, template, think }: ChatState,
  saved: SessionSettings,
  given: ReadonlySet<string>,
): ChatState {
  const { maxTokens, variables } = saved;
  const date = new Date(typeof saved["date"] === "string" ? saved["date"] : Number.NaN);
  const overflow = OVERFLOWS.find((known) => known === saved["overflow"]);
  const mode = THINK_MODES.find((known) => known === saved["think"]);
  return {
    settings: {
      sampling: withSampling(settings.sampling, saved["sampling"], given),
      maxTokens:
        !given.has("predict") && isCount(maxTokens) && maxTokens > 0 ? maxTokens : settings.maxTokens,
      overflow: given.has("overflow") ? settings.overflow : (overflow ?? settings.overflow),
    },
    template: {
      ...template,
      ...(!given.has("date") && !Number.isNaN(date.getTime()) && { date }),
      ...(!given.has("chatTemplateKwargs") && isMap(variables) && { chatTemplateKwargs: variables }),
    },
    think: given.has("think") ? think : (mode ?? think),
  };
}

/** How many of the oldest turns a saved chat had let go of. */
export function forgottenOf({ forgotten }: SessionSettings): number {
  return isCount(forgotten) ? forgotten : 0;
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
