import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { SluiceError } from "../errors.ts";
import type { Gguf, GgufPart, MetadataValue, TensorInfo } from "../gguf/types.ts";
import { repositoryName } from "../models-on-disk/source-name.ts";
import { Blob } from "./blob.ts";
import { convertConfig } from "./config.ts";
import { readJson } from "./json.ts";
import { ggufName } from "./names.ts";
import { type Reordered, readReordered } from "./reorder.ts";
import type { SafeTensorsFile } from "./safetensors.ts";
import { openShards } from "./shards.ts";
import { convertTokenizer } from "./tokenizer.ts";

const CONFIG = "config.json";
const ALIGNMENT = 32;

/** The folder of a Hugging Face model that a path means: itself, or of its config.json or safetensors; undefined: none. */
export function modelFolder(path: string): string | undefined {
  const folder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (folder) return existsSync(join(path, CONFIG)) ? path : undefined;
  const name = basename(path);
  const isPart = name === CONFIG || name.endsWith(".safetensors") || name.endsWith(".safetensors.index.json");
  return isPart && existsSync(join(dirname(path), CONFIG)) ? dirname(path) : undefined;
}

/**
 * A Hugging Face model, config.json, safetensors and tokenizer.json, as if it were a GGUF file: the same metadata, names and
 * order of rows. The weights stay in their files.
 *
 * @throws SluiceError `io`, `bad-model`, `unsupported`
 */
export function openHfFolder(folder: string): Gguf {
  const config = readJson(join(folder, CONFIG));
  const converted = convertConfig(config, join(folder, CONFIG));
  const blob = new Blob();
  // What the model is, for its fingerprint.
  blob.add(readFileSync(join(folder, CONFIG)));
  const size = converted.metadata.get(`${converted.architecture}.vocab_size`)!.value as number;
  const metadata = new Map<string, MetadataValue>([
    ...converted.metadata,
    ["general.name", { type: "string", value: nameOf(folder, config) }],
    ...convertTokenizer(folder, config, size, blob),
  ]);
  const tensors = new Map<string, TensorInfo>();
  if (converted.ropeFactors !== undefined) {
    const { offset, bytes, length } = blob.numbers(converted.ropeFactors);
    tensors.set("rope_freqs.weight", {
      name: "rope_freqs.weight",
      type: "f32",
      shape: [length],
      offset,
      bytes,
    });
  }
  const generated = blob.finish();
  const files = openShards(folder);
  try {
    const parts = partsOf(folder, generated.length, files);
    const reordered = addTensors(tensors, files, parts, converted);
    return {
      path: folder,
      fileBytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
      parts,
      version: 3,
      alignment: ALIGNMENT,
      headerBytes: generated.length,
      metadata,
      tensors,
      read: (offset, target) => {
        if (offset < generated.length) target.set(generated.subarray(offset, offset + target.length));
        else readReordered(reordered, offset, target, (at, piece) => readParts(files, parts, at, piece));
      },
      close: () => {
        for (const file of files) file.close();
      },
    };
  } catch (error) {
    for (const file of files) file.close();
    throw error;
  }
}

/** As its makers call it, where the configuration says so. */
function nameOf(folder: string, config: Readonly<Record<string, unknown>>): string {
  const name = config["_name_or_path"];
  if (typeof name === "string" && name !== "") return basename(name);
  return repositoryName(folder) ?? basename(resolve(folder));
}

/** What is generated, then the files. */
function partsOf(folder: string, generatedBytes: number, files: readonly SafeTensorsFile[]): GgufPart[] {
  const path = join(folder, CONFIG);
  const generated = {
    bytes: generatedBytes,
    tableStart: 0,
    tableEnd: generatedBytes,
    headerBytes: generatedBytes,
    derived: true,
  } as const;
  const parts: GgufPart[] = [{ path, start: 0, modified: statSync(path).mtimeMs, ...generated }];
  let start = generatedBytes;
  for (const { path, bytes, headerBytes, modified } of files) {
    parts.push({ path, start, bytes, tableStart: 0, tableEnd: headerBytes, headerBytes, modified });
    start += bytes;
  }
  return parts;
}

/** Add all tensors under their names in GGUF. @returns those whose rows are in another order there */
function addTensors(
  tensors: Map<string, TensorInfo>,
  files: readonly SafeTensorsFile[],
  parts: readonly GgufPart[],
  { tied, reordered }: ReturnType<typeof convertConfig>,
): Reordered[] {
  const found: Reordered[] = [];
  for (const [index, file] of files.entries()) {
    for (const { name, type, shape, offset, bytes } of file.tensors) {
      const known = ggufName(name);
      if (known === undefined)
        throw new SluiceError(
          "unsupported",
          `${file.path} has a tensor ${JSON.stringify(name)}, which sluice has no use for`,
          {
            next: "Use a GGUF file of the model, if there is one.",
          },
        );
      if (known === null || (tied && known === "output.weight")) continue;
      const at = parts[index + 1].start + offset;
      tensors.set(known, { name: known, type, shape: [...shape].reverse(), offset: at, bytes });
      const part = /^blk\.\d+\.attn_([qk])\./.exec(known)?.[1];
      if (part === undefined || reordered === undefined) continue;
      const { headSize, heads, kvHeads } = reordered;
      const rows = (part === "q" ? heads : kvHeads) * headSize;
      if (shape[0] !== rows)
        throw new SluiceError(
          "bad-model",
          `${file.path}: ${name} has ${shape[0]} rows; the configuration says ${rows}`,
          {
            next: "Download the model again.",
          },
        );
      found.push({ offset: at, bytes, rowBytes: bytes / rows, headSize });
    }
  }
  return found.sort((a, b) => a.offset - b.offset);
}

function readParts(
  files: readonly SafeTensorsFile[],
  parts: readonly GgufPart[],
  offset: number,
  target: Uint8Array,
): void {
  const next = parts.findIndex(({ start }) => start > offset);
  const index = (next < 0 ? parts.length : next) - 1;
  files[index - 1].read(offset - parts[index].start, target);
}
