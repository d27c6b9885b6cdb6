import { existsSync, statSync } from "node:fs";
import { SluiceError } from "../errors.ts";
import { holdsSplitModel } from "../gguf/split-names.ts";
import { modelFolder } from "../hf/open-folder.ts";
import { type CacheEntry, listCaches } from "../store/list.ts";
import { fileFingerprint } from "./ensure-unpacked.ts";
import { resolveModel } from "./model-argument.ts";

/**
 * The caches that a user means: by name, by the beginning of one, or all those of a model file.
 *
 * @param names none means all
 * @throws SluiceError `bad-input` for a name that fits none, or several
 */
export function findNamed(root: string, names: readonly string[]): CacheEntry[] {
  const entries = listCaches(root);
  if (names.length === 0) return entries;
  return [...new Set(names.flatMap((name) => findOne(root, entries, name)))];
}

function findOne(root: string, entries: readonly CacheEntry[], name: string): CacheEntry[] {
  const exact = entries.filter((entry) => entry.name === name);
  if (exact.length > 0) return exact;
  const path = resolveModel(name);
  const isFile =
    existsSync(path) && (statSync(path).isFile() || holdsSplitModel(path) || modelFolder(path) !== undefined);
  const mark = isFile ? `-${fileFingerprint(path).slice(0, 12)}-` : undefined;
  const found = entries.filter((entry) => (mark ? entry.name.includes(mark) : entry.name.startsWith(name)));
  if (found.length === 1 || (found.length > 0 && mark)) return found;
  const problem =
    found.length === 0
      ? `nothing unpacked is called ${name} in ${root}`
      : `${name} could be ${found.map((entry) => entry.name).join(" or ")}`;
  throw new SluiceError("bad-input", problem, { next: "`sluice cache ls` lists what there is." });
}
