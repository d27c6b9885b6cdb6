/** Finished caches: opening one, and finding those of a model. */
import { type Dirent, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import { holdsSplitModel } from "../gguf/split-names.ts";
import { errorCode, ioError } from "./io-error.ts";
import { readManifest } from "./manifest.ts";
import { cacheFolderSuffix, isOwnFolder, REPLACED, REPLACEMENT, UNPACK_AGAIN } from "./names.ts";
import { type Compression, DTYPES, type Dtype, type Manifest, type StoredFile } from "./types.ts";

/** A finished cache: every file is there and has its size. */
export interface Cache {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** Which of a model's caches. */
export interface Variant {
  readonly dtype: Dtype;
  readonly compression: Compression;
}

/** Every kind of cache that a model can have. */
export const VARIANTS: readonly Variant[] = DTYPES.flatMap((dtype) => [
  { dtype, compression: "none" as const },
  { dtype, compression: "lz4" as const },
]);

/** All weight files, in the order of use. */
export function weightFiles(manifest: Pick<Manifest, "embedding" | "layers" | "output">): StoredFile[] {
  return [manifest.embedding, ...manifest.layers, manifest.output];
}

/** Bytes of weights and tokenizer together. */
export function cacheBytes(manifest: Manifest): number {
  return weightFiles(manifest).reduce((sum, file) => sum + file.bytes, manifest.tokenizer.bytes);
}

/** Whether a path is a folder that can only be a cache: a folder may also hold the parts of a split model. */
export function isCacheFolder(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  return !holdsSplitModel(path) && !existsSync(join(path, "config.json"));
}

/**
 * Open a finished cache. Takes a stat per file; contents are for `verifyCache`.
 *
 * @throws SluiceError `bad-cache` for a folder that is no finished cache, or naming the file that is missing,
 *   truncated or foreign
 */
export function openCache(folder: string): Cache {
  const manifest = readManifest(folder);
  for (const { name, bytes } of [...weightFiles(manifest), manifest.tokenizer]) {
    const found = fileSize(join(folder, name));
    if (found === bytes) continue;
    const problem =
      found === undefined
        ? "is missing"
        : `is ${found < bytes ? "truncated" : "not the file that was unpacked"}: it has ${found} bytes instead of ${bytes}`;
    throw new SluiceError("bad-cache", `${join(folder, name)} ${problem}`, { next: UNPACK_AGAIN });
  }
  return { folder, manifest };
}

/** Finished caches below `root` that were made from the source of this fingerprint; damaged ones are left out. */
export function findCaches(root: string, fingerprint: string): Cache[] {
  const suffixes = VARIANTS.map((variant) =>
    cacheFolderSuffix(fingerprint, variant.dtype, variant.compression),
  );
  return cacheFolders(root)
    .filter((name) => suffixes.some((suffix) => name.endsWith(suffix)))
    .map((name) => tryOpen(join(root, name)))
    .filter((cache) => cache?.manifest.source.fingerprint === fingerprint) as Cache[];
}

/** The cache in a folder, or undefined where there is no sound one. */
export function tryOpen(folder: string): Cache | undefined {
  try {
    return openCache(folder);
  } catch (error) {
    if (error instanceof SluiceError && error.code === "bad-cache") return undefined;
    throw error;
  }
}

/** Names of the folders below `root` that sluice unpacks into, sorted; none where there is no such root. */
export function cacheFolders(root: string, replaced = false): string[] {
  return readFolder(root)
    .filter((entry) => entry.isDirectory() && isOwnFolder(entry.name))
    .map((entry) => entry.name)
    .filter((name) => replaced || !(name.endsWith(REPLACEMENT) || name.endsWith(REPLACED)))
    .sort();
}

function readFolder(root: string): Dirent[] {
  try {
    return readdirSync(root, { withFileTypes: true });
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw ioError(error, "read", root);
  }
}

function fileSize(path: string): number | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() ? stats.size : undefined;
}
