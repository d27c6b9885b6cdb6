import { join } from "node:path";
import type { Gguf } from "../gguf/types.ts";
import { openModel } from "../hf/open-model.ts";
import { planModel } from "../model/plan-model.ts";
import type { ModelPlan } from "../model/types.ts";
import { isCacheFolder, openCache } from "../store/cache.ts";
import { buildTokenizerData } from "../text/build-tokenizer-data.ts";
import { encodeTokenizerData } from "../text/tokenizer-data.ts";

/** A model that plans are made for. */
export interface Subject {
  readonly plan: ModelPlan;
  /** Bytes of the cache's file of the tokenizer. */
  readonly tokenizerBytes: number;
  /** The largest file of it, to measure the disk with. */
  readonly sample: string;
}

/**
 * @param path a GGUF file, a folder with the parts of one, or the folder of a finished cache
 * @throws SluiceError `bad-model`, `unsupported`, `bad-cache`, `io`
 */
export function openSubject(path: string): Subject {
  if (isCacheFolder(path)) return fromCache(path);
  const gguf = openModel(path);
  try {
    return subjectOf(gguf);
  } finally {
    gguf.close();
  }
}

/** @throws SluiceError `bad-model`, `unsupported` */
export function subjectOf(gguf: Gguf): Subject {
  const plan = planModel(gguf);
  const tokenizerBytes = encodeTokenizerData(buildTokenizerData(gguf)).length;
  return { plan, tokenizerBytes, sample: largest(gguf.parts).path };
}

function fromCache(folder: string): Subject {
  const { model, embedding, layers, output, tokenizer } = openCache(folder).manifest;
  const plan = {
    model,
    embedding: embedding.tensors[0],
    layers: layers.map(({ tensors }) => tensors),
    output: output.tensors,
  };
  return { plan, tokenizerBytes: tokenizer.bytes, sample: join(folder, largest([...layers, output]).name) };
}

function largest<T extends { readonly bytes: number }>(files: readonly T[]): T {
  return files.reduce((best, file) => (file.bytes > best.bytes ? file : best));
}
