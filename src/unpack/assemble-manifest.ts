import { crc32 } from "node:zlib";
import type { ModelPlan } from "../model/types.ts";
import { sourceName } from "../models-on-disk/source-name.ts";
import { encodeMessage } from "../store/manifest.ts";
import { TOKENIZER } from "../store/names.ts";
import type { Manifest } from "../store/types.ts";
import { version } from "../version.ts";
import type { Origin } from "./journal.ts";
import type { PlannedFile } from "./planned-file.ts";
import type { WrittenFile } from "./write-weights.ts";

/** All of a manifest but the weight files. */
export interface Ingredients {
  /** Path of the model file. */
  readonly path: string;
  readonly plan: ModelPlan;
  readonly origin: Origin;
  /** Content of tokenizer.msgpack. */
  readonly tokenizer: Uint8Array;
}

/** @param written weight files in the order of the plan: embedding, layers, output */
export function assembleManifest(
  { path, plan, origin, tokenizer }: Ingredients,
  written: readonly WrittenFile[],
): Manifest {
  const files = written.map(({ file }) => file);
  return {
    format: origin.format,
    sluice: version(),
    source: { name: sourceName(path), bytes: origin.bytes, fingerprint: origin.fingerprint },
    model: plan.model,
    dtype: origin.dtype,
    compression: origin.compression,
    tokenizer: { name: TOKENIZER, bytes: tokenizer.length, crc32: crc32(tokenizer) },
    embedding: files[0],
    layers: files.slice(1, -1),
    output: files[files.length - 1],
    timing: Object.fromEntries(written.map(({ file, timing }) => [file.name, timing])),
  };
}

/** Most bytes that the manifest can have: with every number at its longest. */
export function longestManifest(ingredients: Ingredients, planned: readonly PlannedFile[]): number {
  const timing = { readMs: 0.1, dequantizeMs: 0.1, encodeMs: 0.1, writeMs: 0.1, ms: 0.1 };
  const written = planned.map(({ name, tensors, chunks, bytes }) => {
    let offset = 0;
    const stored = chunks.map((chunk) => {
      offset += chunk.bytes;
      return { offset: offset - chunk.bytes, stored: chunk.bytes, crc32: 2 ** 32 - 1 };
    });
    return { file: { name, bytes, tensors, chunks: stored }, timing };
  });
  return encodeMessage(assembleManifest(ingredients, written)).length;
}
