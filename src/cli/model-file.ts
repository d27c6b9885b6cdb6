/** What is read of a model without running it: from its GGUF file, or from the folder that it was unpacked to. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import { openModel } from "../hf/open-model.ts";
import { type Cache, isCacheFolder, openCache } from "../store/cache.ts";
import { buildTokenizerData } from "../text/build-tokenizer-data.ts";
import { decodeTokenizerData, type TokenizerData } from "../text/tokenizer-data.ts";
import { resolveModel } from "./model-argument.ts";

/**
 * The first argument of a command whose other arguments are texts: who leaves the model out has given a text for it.
 *
 * @throws SluiceError `io` where it is no path that is there
 */
export function checkModelComesFirst(text: string): void {
  const path = resolveModel(text);
  if (existsSync(path)) return;
  throw new SluiceError("io", `${path} does not exist`, {
    next: "Check the path: the first argument is the model, texts come after it.",
  });
}

/**
 * The argument of a command that has no use for an unpacked model.
 *
 * @throws SluiceError `bad-input` for a folder, with the name of the file to give instead
 */
export function checkIsNoFolder(path: string): void {
  if (!isCacheFolder(path)) return;
  const source = sourceOf(path);
  throw source === undefined
    ? new SluiceError("bad-input", `${path} is a folder, and no unpacked model`, {
        next: "Give the path of a .gguf file.",
      })
    : new SluiceError("bad-input", `${path} is an unpacked model, not a model file`, {
        next: `Give the GGUF file that it was unpacked from: it was called ${source}.`,
      });
}

/**
 * What a model knows of text.
 *
 * @param path a GGUF file, a folder with the parts of one, or the folder of a finished cache
 * @throws SluiceError `bad-model`, `unsupported`, `bad-cache`, `io`
 */
export function readTokenizerData(path: string): TokenizerData {
  if (isCacheFolder(path)) return cachedTokenizerData(openCache(path));
  const gguf = openModel(path);
  try {
    return buildTokenizerData(gguf);
  } finally {
    gguf.close();
  }
}

export function cachedTokenizerData({ folder, manifest }: Cache): TokenizerData {
  return decodeTokenizerData(readFileSync(join(folder, manifest.tokenizer.name)));
}

/** Name of the file that a folder was unpacked from; undefined where it is no unpacked model. */
function sourceOf(folder: string): string | undefined {
  try {
    return openCache(folder).manifest.source.name;
  } catch (error) {
    if (error instanceof SluiceError) return undefined;
    throw error;
  }
}
