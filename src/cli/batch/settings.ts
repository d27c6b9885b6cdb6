import { createHash } from "node:crypto";
import type { Cache } from "../../store/cache.ts";
import type { EngineFlags } from "../engine-options.ts";
import type { GenerationFlags } from "../options.ts";
import type { TemplateFlags } from "../template-options.ts";
import type { Item } from "./items.ts";

/** What the command line says of all prompts. */
export type BatchSettings = GenerationFlags &
  TemplateFlags &
  Pick<EngineFlags, "kv" | "ctxSize"> & {
    readonly system?: string;
    readonly stop?: readonly string[];
    /** False with `--no-template`. */
    readonly template: boolean;
  };

/** Hexadecimal digits of a key: with 64 bits, two of a billion are the same once in 37 times. */
const KEY_DIGITS = 16;

/** Makes the key of an item: of all that its result follows from. */
export function keyMaker(
  { manifest }: Pick<Cache, "manifest">,
  settings: BatchSettings,
): (item: Item) => string {
  const { source, dtype, model } = manifest;
  const { chatTemplateFile, chatTemplateKwargs, date, system, stop, template } = settings;
  const { kv = dtype === "f32" ? "f32" : "f16", ctxSize = model.contextLength } = settings;
  const { temp, topK, topP, minP, repeatPenalty, repeatLastN, seed, predict } = settings;
  const common = JSON.stringify([
    [source.fingerprint, dtype, kv, ctxSize],
    [template, chatTemplateFile?.source, chatTemplateKwargs, date, system],
    [temp, topK, topP, minP, repeatPenalty, repeatLastN, seed, predict, stop],
  ]);
  return ({ raw }) =>
    createHash("sha256").update(common).update("\n").update(raw).digest("hex").slice(0, KEY_DIGITS);
}
