/** The files of a Hugging Face model: `model.safetensors`, or those that `model.safetensors.index.json` names. */
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { SluiceError } from "../errors.ts";
import { readJson } from "./json.ts";
import { openSafeTensors, type SafeTensorsFile } from "./safetensors.ts";

const SINGLE = "model.safetensors";
const INDEX = "model.safetensors.index.json";

/**
 * All files of a model, open, in the order of their names.
 *
 * @throws SluiceError `io` for one that is missing, `bad-model` for files that do not make up one model, and what
 *   `openSafeTensors` throws
 */
export function openShards(folder: string): SafeTensorsFile[] {
  const index = existsSync(join(folder, INDEX)) ? readIndex(join(folder, INDEX)) : undefined;
  const names = index === undefined ? [single(folder)] : [...new Set(index.values())].sort();
  const missing = names.filter((name) => !existsSync(join(folder, name)));
  if (missing.length > 0)
    throw new SluiceError("io", `${folder} lacks ${missing.slice(0, 5).join(", ")}`, {
      next: `The model has ${names.length} files of weights: download all of them.`,
    });
  const files: SafeTensorsFile[] = [];
  try {
    for (const name of names) files.push(openSafeTensors(join(folder, name)));
    checkNames(folder, files, index);
    return files;
  } catch (error) {
    for (const file of files) file.close();
    throw error;
  }
}

/** By tensor the file that holds it. */
function readIndex(path: string): Map<string, string> {
  const { weight_map: map } = readJson(path);
  const entries = typeof map === "object" && map !== null ? Object.entries(map) : [];
  const isPlain = (name: unknown) => typeof name === "string" && basename(name) === name && name !== "";
  if (entries.length === 0 || !entries.every(([, name]) => isPlain(name)))
    throw new SluiceError("bad-model", `${path} has no weight_map of tensors and file names`, {
      next: "Download the model again.",
    });
  return new Map(entries);
}

function single(folder: string): string {
  if (existsSync(join(folder, SINGLE))) return SINGLE;
  const found = readdirSync(folder).filter((name) => name.endsWith(".safetensors"));
  if (found.length === 1) return found[0];
  throw new SluiceError(
    "io",
    found.length === 0
      ? `${folder} has a config.json, but no weights in safetensors`
      : `${folder} has ${found.length} files of weights, but no ${INDEX}, which tells how they belong together`,
    { next: "Download the whole model." },
  );
}

function checkNames(
  folder: string,
  files: readonly SafeTensorsFile[],
  index: ReadonlyMap<string, string> | undefined,
): void {
  const holders = new Map<string, string>();
  for (const { path, tensors } of files) {
    for (const { name } of tensors) {
      const other = holders.get(name);
      if (other !== undefined)
        throw new SluiceError("bad-model", `tensor ${JSON.stringify(name)} is in ${other} and in ${path}`, {
          next: "Download the model again, all files of the same one.",
        });
      holders.set(name, path);
    }
  }
  for (const [name, file] of index ?? []) {
    if (holders.get(name) === join(folder, file)) continue;
    throw new SluiceError("bad-model", `tensor ${JSON.stringify(name)} is not in ${join(folder, file)}`, {
      next: "Download the model again, all files of the same one.",
    });
  }
}
