import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import type { Gguf } from "../gguf/types.ts";
import { takeApart } from "../model/fused.ts";
import { planModel } from "../model/plan-model.ts";
import { blockFormat } from "../quant/index.ts";
import { writeFileAtomic } from "../store/atomic.ts";
import { isFull } from "../store/io-error.ts";
import { writeManifest } from "../store/manifest.ts";
import { TOKENIZER } from "../store/names.ts";
import type { Dtype, Manifest } from "../store/types.ts";
import { buildTokenizerData } from "../text/build-tokenizer-data.ts";
import { encodeTokenizerData } from "../text/tokenizer-data.ts";
import { assembleManifest, type Ingredients, longestManifest } from "./assemble-manifest.ts";
import { keepFinished, type Origin, removeJournal, writeJournal } from "./journal.ts";
import { type PlannedFile, planFiles } from "./planned-file.ts";
import { deleteOwnFiles } from "./replace.ts";
import { checkSpace, diskFull, neededBytes, type SpaceQuestion } from "./space.ts";
import { nativeName, smallerDtypes } from "./tensor-dtype.ts";
import type { UnpackEvent, UnpackOptions } from "./types.ts";
import { type NewFile, type WrittenFile, writeWeights } from "./write-weights.ts";

export interface MakeOptions extends Pick<UnpackOptions, "signal" | "onProgress"> {
  /** Whether files that are complete when it fails stay for the next time. */
  readonly resumable: boolean;
}

/** A model that can be unpacked, and what that will make of it. */
export interface Prepared {
  readonly ingredients: Ingredients;
  readonly planned: readonly PlannedFile[];
  /** The model file as the sources of the planned files name its tensors. */
  readonly source: Gguf;
}

/**
 * Find out whether a model can be unpacked. Writes nothing.
 *
 * @throws SluiceError `bad-model`, `unsupported`
 */
export function prepare(gguf: Gguf, origin: Origin): Prepared {
  const plan = planModel(gguf);
  const source = takeApart(gguf, plan.model);
  const planned = planFiles(plan, origin.dtype);
  checkTypes(source, planned);
  const tokenizer = encodeTokenizerData(buildTokenizerData(gguf));
  return { ingredients: { path: gguf.path, plan, origin, tokenizer }, planned, source };
}

/**
 * Make the cache in a folder, continuing what is there. When it fails, no unfinished file is left, and no folder
 * without finished ones.
 *
 * @throws SluiceError, or the operating system's error of the folder
 */
export async function makeCache(
  folder: string,
  { ingredients, planned, source }: Prepared,
  { signal, onProgress = () => {}, resumable }: MakeOptions,
): Promise<{ manifest: Manifest; resumed: number }> {
  const { origin, tokenizer } = ingredients;
  mkdirSync(folder, { recursive: true });
  const progress = { done: 0, file: TOKENIZER };
  let files: Map<string, WrittenFile> | undefined;
  let question: SpaceQuestion | undefined;
  try {
    onProgress({ type: "start", folder, files: planned.length, bytes: sumBytes(planned) });
    files = await keepFinished(folder, origin, planned, signal, ({ name, bytes }) => {
      progress.done += bytes;
      onProgress({ type: "kept", file: name, doneBytes: progress.done });
    });
    const resumed = files.size;
    const missing = planned.filter(({ name }) => !files!.has(name));
    question = askForSpace(folder, ingredients, planned, missing);
    checkSpace(question);

    writeJournal(folder, origin, [...files.values()]);
    writeFileAtomic(join(folder, TOKENIZER), tokenizer);
    for (const file of missing) {
      progress.file = file.name;
      const { name, bytes } = file;
      const made = await makeFile(source, folder, origin, file, progress.done, { signal, onProgress });
      files.set(name, { file: made.file, timing: made.timing });
      progress.done += bytes;
      writeJournal(folder, origin, [...files.values()]);
      const { timing, tensors } = made;
      const stored = made.file.bytes;
      const doneBytes = progress.done;
      onProgress({ type: "file-done", file: name, bytes, stored, doneBytes, timing, tensors });
    }
    const written = planned.map(({ name }) => files!.get(name)!);
    const manifest = assembleManifest(ingredients, written);
    writeManifest(folder, manifest);
    removeJournal(folder);
    return { manifest, resumed };
  } catch (error) {
    const leaves = resumable && files?.size !== 0;
    if (!leaves) deleteOwnFiles(folder);
    throw question && isFull(error)
      ? diskFull(error, progress.file, question, leaves)
      : stopped(error, leaves);
  }
}

/** Write one weight file, telling of the progress; `before` bytes were done before it. */
async function makeFile(
  gguf: Gguf,
  folder: string,
  origin: Origin,
  planned: PlannedFile,
  before: number,
  {
    signal,
    onProgress,
  }: { readonly onProgress: (event: UnpackEvent) => void } & Pick<UnpackOptions, "signal">,
): Promise<NewFile> {
  const { name, bytes } = planned;
  onProgress({ type: "file", file: name, bytes, doneBytes: before });
  return writeWeights(folder, gguf, planned, {
    compress: origin.compression === "lz4",
    signal,
    check: () => checkUnchanged(gguf),
    onBytes: (fileBytes) => {
      onProgress({ type: "written", file: name, fileBytes, doneBytes: before + fileBytes });
    },
  });
}

function askForSpace(
  folder: string,
  ingredients: Ingredients,
  planned: readonly PlannedFile[],
  missing: readonly PlannedFile[],
): SpaceQuestion {
  const { origin, plan, tokenizer } = ingredients;
  const { dtype, compression } = origin;
  const manifest = longestManifest(ingredients, planned);
  // The journal grows to a manifest's size, and is there twice while it is replaced.
  const needed = neededBytes(missing, compression, [tokenizer.length, manifest, manifest, manifest]);
  const tensors = [plan.embedding, ...plan.layers.flat(), ...plan.output];
  const bytesAs = (other: Dtype) => sumBytes(planFiles(plan, other));
  const smaller = smallerDtypes(dtype, bytesAs, nativeName(tensors));
  return { folder, needed, dtype, compression, smaller };
}

function sumBytes(files: readonly PlannedFile[]): number {
  return files.reduce((sum, file) => sum + file.bytes, 0);
}

/** @throws SluiceError `unsupported`, before anything is written */
function checkTypes(gguf: Gguf, planned: readonly PlannedFile[]): void {
  for (const { tensors } of planned)
    for (const name of tensors.flatMap(({ sources }) => sources))
      blockFormat(gguf.tensors.get(name)!.type, name);
}

function checkUnchanged({ parts }: Gguf): void {
  for (const { path, bytes, modified, derived } of parts) {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats?.mtimeMs === modified && (derived || stats.size === bytes)) continue;
    throw new SluiceError("bad-model", `${path} was changed or moved while it was being unpacked`, {
      next: "Unpack it again when it is complete.",
    });
  }
}

/** What to say to someone who has stopped an unpack; other errors are passed on as they are. */
function stopped(error: unknown, leaves: boolean): unknown {
  if (!(error instanceof SluiceError) || error.code !== "aborted") return error;
  return new SluiceError("aborted", "unpacking was stopped", {
    next: leaves ? "The same command continues where it stopped." : "It left nothing on disk.",
    cause: error,
  });
}
