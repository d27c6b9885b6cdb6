import { Model } from "../engine/model.ts";
import type { Hyperparameters } from "../model/types.ts";
import { recordCircumstances, recordModel } from "./describe-run.ts";
import { chosenDrafts, type DraftFlags, ShadowView } from "./draft-option.ts";
import { type EngineFlags, engineOptions } from "./engine-options.ts";
import { ensureUnpacked, type UnpackFlags } from "./ensure-unpacked.ts";
import { interruptSignal } from "./interrupt.ts";
import { tell } from "./tell.ts";
import { currentRecorder } from "./timings-file.ts";

/** Unpack a model where that is not done yet, open it, and close it after `use`, whatever happens. */
export async function withModel<Result>(
  path: string,
  flags: UnpackFlags & EngineFlags & DraftFlags,
  use: (model: Model) => Promise<Result>,
): Promise<Result> {
  return withUnpacked(await ensureUnpacked(path, flags), flags, use);
}

/** Open an unpacked model, and close it after `use`. */
export async function withUnpacked<Result>(
  folder: string,
  flags: EngineFlags & DraftFlags & UnpackFlags,
  use: (model: Model) => Promise<Result>,
): Promise<Result> {
  const drafts = await chosenDrafts(flags, flags);
  const view = new ShadowView();
  const { onShadow } = view;
  const observer = currentRecorder();
  const signal = interruptSignal;
  const options = { ...engineOptions(flags), drafts, observer, onShadow, signal };
  const model = await Model.open(folder, options).finally(() => view.end());
  const { contextLength } = model;
  const running = { cache: model, memory: model.memory(), contextLength };
  recordModel(running);
  noteLongContext(contextLength, model.manifest.model);
  try {
    const result = await use(model);
    await recordCircumstances(running);
    return result;
  } finally {
    await model.close();
  }
}

/** Say where a context is longer than the model was made for. */
export function noteLongContext(
  tokens: number,
  { contextLength: trained }: Pick<Hyperparameters, "contextLength">,
): void {
  if (tokens > trained && trained > 0)
    tell(`sluice: the model was trained for a context of ${trained} tokens; it may talk nonsense beyond`);
}
