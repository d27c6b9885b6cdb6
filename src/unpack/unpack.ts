import { existsSync, mkdirSync, rmdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { SluiceError } from "../errors.ts";
import { fingerprint } from "../gguf/fingerprint.ts";
import { openModel } from "../hf/open-model.ts";
import { sourceName } from "../models-on-disk/source-name.ts";
import { type Cache, cacheFolders, openCache, VARIANTS, type Variant } from "../store/cache.ts";
import { ioError, isSystemError } from "../store/io-error.ts";
import { acquireLock, lockHolder } from "../store/lock.ts";
import { CACHE_FORMAT, outdatedFormat } from "../store/manifest.ts";
import { cacheFolderName, cacheFolderSuffix, MANIFEST } from "../store/names.ts";
import { DTYPES } from "../store/types.ts";
import { hasJournal, type Origin, removeJournal } from "./journal.ts";
import { makeCache, prepare } from "./make-cache.ts";
import { deleteOwnFiles, isUnsettled, replaceCache, replacementFolder, settle } from "./replace.ts";
import type { UnpackOptions, UnpackResult } from "./types.ts";

/**
 * Unpack a model file into the cache, or find that it is there already. May be killed at any moment: the next call
 * continues. Of several processes that unpack the same, one does it and the others wait for it.
 *
 * @param path a GGUF file, any part of a split model, or the folder that holds the parts of one
 * @throws SluiceError `bad-model`, `unsupported` (the model); `no-space`, `io`, `locked` (the cache folder);
 *   `bad-cache` for a finished cache that is damaged, which only `force` replaces; `aborted`
 * @example
 * const { folder } = await unpack("model.gguf", { dtype: "q8", root: "cache" });
 */
export async function unpack(path: string, options: UnpackOptions): Promise<UnpackResult> {
  const start = performance.now();
  const { dtype = "f32", compression = "none", root, force = false, signal, onProgress } = options;
  if (!VARIANTS.some((variant) => variant.dtype === dtype && variant.compression === compression))
    throw new SluiceError("bad-input", `there is no dtype ${dtype} with compression ${compression}`, {
      next: `Dtypes are ${DTYPES.join(", ")}; compressions are none and lz4.`,
    });
  const gguf = openModel(path);
  let made: string | undefined;
  try {
    const origin: Origin = {
      format: CACHE_FORMAT,
      fingerprint: fingerprint(gguf),
      bytes: gguf.fileBytes,
      modified: Math.max(...gguf.parts.map((part) => part.modified)),
      dtype,
      compression,
    };
    const folder = join(root, folderName(root, gguf.path, origin.fingerprint, { dtype, compression }));
    const found = (cache: Cache) => ({ ...cache, reused: true, resumed: 0, ms: performance.now() - start });
    const finished = force ? undefined : finishedCache(folder, origin);
    // While another process replaces it, the cache that is there serves; what a dead one has left is cleared away.
    if (finished && (lockHolder(folder) || !hasLeftovers(folder))) return found(finished);

    const prepared = prepare(gguf, origin);
    made = mkdirSync(root, { recursive: true });
    const release = await acquireLock(folder, {
      signal,
      onWait: (holder) => onProgress?.({ type: "waiting", holder }),
    });
    try {
      settle(folder);
      const other = force ? undefined : finishedCache(folder, origin);
      if (other) {
        removeJournal(folder);
        return found(other);
      }
      const outdated = outdatedFormat(folder);
      if (outdated !== undefined) onProgress?.({ type: "outdated", folder, format: outdated });
      const replaces = existsSync(join(folder, MANIFEST));
      const target = replaces ? replacementFolder(folder) : folder;
      if (force) deleteOwnFiles(target);
      const { manifest, resumed } = await makeCache(target, prepared, {
        signal,
        onProgress,
        resumable: !replaces,
      });
      if (replaces) replaceCache(folder);
      return { folder, manifest, reused: false, resumed, ms: performance.now() - start };
    } finally {
      release();
    }
  } catch (error) {
    if (made !== undefined) removeEmpty(root, made);
    throw isSystemError(error) ? ioError(error, "unpack into", root) : error;
  } finally {
    gguf.close();
  }
}

/** Remove a folder that was made and stayed empty, and those above it, up to `last`. */
function removeEmpty(folder: string, last: string): void {
  try {
    rmdirSync(folder);
  } catch {
    return;
  }
  if (resolve(folder) !== resolve(last)) removeEmpty(dirname(resolve(folder)), last);
}

function hasLeftovers(folder: string): boolean {
  return hasJournal(folder) || isUnsettled(folder);
}

/** The finished cache in a folder; undefined where there is none of this format, an error where there is a damaged one. */
function finishedCache(folder: string, origin: Origin): Cache | undefined {
  if (!existsSync(join(folder, MANIFEST)) || outdatedFormat(folder) !== undefined) return undefined;
  const cache = openCache(folder);
  if (cache.manifest.source.fingerprint === origin.fingerprint) return cache;
  throw new SluiceError("bad-cache", `${folder} was made from another model file`, {
    next: "Unpack with --force to replace it, or into another --cache-dir.",
  });
}

/** The name of the source's folder, though its file may have had another name when that was made. */
function folderName(root: string, path: string, mark: string, { dtype, compression }: Variant): string {
  const suffix = cacheFolderSuffix(mark, dtype, compression);
  const existing = cacheFolders(root).find((name) => name.endsWith(suffix));
  return existing ?? cacheFolderName(sourceName(path), mark, dtype, compression);
}
