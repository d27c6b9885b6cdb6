import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import type { Gguf } from "../gguf/types.ts";
import { planModel } from "../model/plan-model.ts";
import { blockFormat } from "../quant/index.ts";
import { writeFileAtomic } from "../store/atomic.ts";
import { isFull } from "../store/io-error.ts";
import { writeManifest } from "../store/manifest.ts";
import { TOKENIZER } from "../store/names.ts";
import { DTYPES, type Dtype, type Manifest } from "../store/types.ts";
import { buildTokenizerData } from "../text/build-tokenizer-data.ts";
import { encodeTokenizerData } from "../text/tokenizer-data.ts";
import { assembleManifest, longestManifest } from "./assemble-manifest.ts";
import { keepFinished, type Origin, removeJournal, writeJournal } from "./journal.ts";
import { type PlannedFile, planFiles } from "./planned-file.ts";
import { deleteOwnFiles } from "./replace.ts";
import { checkSpace, diskFull, neededBytes, type SpaceQuestion } from "./space.ts";
import type { UnpackOptions } from "./types.ts";
import { type WrittenFile, writeWeights } from "./write-weights.ts";

export interface MakeOptions extends Pick<UnpackOptions, "signal" | "onProgress"> {
  /** Whether files that are complete when it fails stay for the next time. */
  readonly resumable: boolean;
}

/**
 * Make the cache in a folder, continuing what is there. When it fails, no unfinished file is left, and no folder
 * without finished ones.
 *
 * @throws SluiceError, or the operating system's error of the folder
 */
export async function makeCache(
  gguf: Gguf,
  folder: string,
  origin: Origin,
  { signal, onProgress = () => {}, resumable }: MakeOptions,
): Promise<{ manifest: Manifest; resumed: number }> {
  const { path } = gguf;
  const plan = planModel(gguf);
  const planned = planFiles(plan, origin.dtype);
  checkTypes(gguf, planned);
  const tokenizer = encodeTokenizerData(buildTokenizerData(gguf));
  const ingredients = { path, plan, origin, tokenizer };

  mkdirSync(folder, { recursive: true });
  let done: Map<string, WrittenFile> | undefined;
  let question: SpaceQuestion | undefined;
  let writing = TOKENIZER;
  try {
    onProgress({ type: "start", folder, files: planned.length, bytes: sumBytes(planned) });
    let doneBytes = 0;
    done = await keepFinished(folder, origin, planned, signal, ({ name, bytes }) => {
      doneBytes += bytes;
      onProgress({ type: "kept", file: name, doneBytes });
    });
    const resumed = done.size;
    const missing = planned.filter(({ name }) => !done!.has(name));
    const manifestBytes = longestManifest(ingredients, planned);
    question = {
      folder,
      // The journal grows to a manifest's size, and is there twice while it is replaced.
      needed: neededBytes(missing, origin.compression, [tokenizer.length, ...Array(3).fill(manifestBytes)]),
      dtype: origin.dtype,
      compression: origin.compression,
      weights: Object.fromEntries(DTYPES.map((dtype) => [dtype, sumBytes(planFiles(plan, dtype))])) as Record<
        Dtype,
        number
      >,
    };
    checkSpace(question);

    writeJournal(folder, origin, [...done.values()]);
    writeFileAtomic(join(folder, TOKENIZER), tokenizer);
    for (const file of missing) {
      writing = file.name;
      onProgress({ type: "file", file: file.name, bytes: file.bytes, doneBytes });
      const written = await writeWeights(folder, gguf, file, {
        compress: origin.compression === "lz4",
        signal,
        check: () => checkUnchanged(path, origin),
        onBytes: (bytes) => {
          onProgress({ type: "written", file: file.name, fileBytes: bytes, doneBytes: doneBytes + bytes });
        },
      });
      doneBytes += file.bytes;
      done.set(file.name, written);
      writeJournal(folder, origin, [...done.values()]);
      const { timing } = written;
      const { name, bytes } = file;
      onProgress({ type: "file-done", file: name, bytes, stored: written.file.bytes, doneBytes, timing });
    }
    const manifest = assembleManifest(
      ingredients,
      planned.map(({ name }) => done!.get(name)!),
    );
    writeManifest(folder, manifest);
    removeJournal(folder);
    return { manifest, resumed };
  } catch (error) {
    const leaves = resumable && done?.size !== 0;
    if (!leaves) deleteOwnFiles(folder);
    throw question && isFull(error) ? diskFull(error, writing, question, leaves) : stopped(error, leaves);
  }
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

function checkUnchanged(path: string, { bytes, modified }: Origin): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.size === bytes && stats.mtimeMs === modified) return;
  throw new SluiceError("bad-model", `${path} was changed or moved while it was being unpacked`, {
    next: "Unpack it again when it is complete.",
  });
}

/** What to say to someone who has stopped an unpack; other errors are passed on as they are. */
function stopped(error: unknown, leaves: boolean): unknown {
  if (!(error instanceof SluiceError) || error.code !== "aborted") return error;
  return new SluiceError("aborted", "unpacking was stopped", {
    next: leaves ? "The same command continues where it stopped." : "It left nothing on disk.",
    cause: error,
  });
}
