/**
 * Replacing a finished cache: the new one is made beside it (`.new`), then the old one steps aside (`.old`) and the
 * new one takes its place. Wherever that is cut off, `settle` brings it to a good end.
 */
import { existsSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { syncFolder } from "../store/atomic.ts";
import { isOwnFile, MANIFEST, REPLACED, REPLACEMENT } from "../store/names.ts";

/** Where the cache that is to replace the one in `folder` is made. */
export function replacementFolder(folder: string): string {
  return folder + REPLACEMENT;
}

/** Put the finished replacement in the place of the cache in `folder`. */
export function replaceCache(folder: string): void {
  renameSync(folder, folder + REPLACED);
  renameSync(folder + REPLACEMENT, folder);
  syncFolder(dirname(folder));
  deleteOwnFiles(folder + REPLACED);
}

/** Whether a replacement was cut off, or is going on. */
export function isUnsettled(folder: string): boolean {
  return existsSync(folder + REPLACEMENT) || existsSync(folder + REPLACED);
}

/** Finish or undo what a replacement that was cut off has left. To be called with the lock held. */
export function settle(folder: string): void {
  if (!existsSync(folder)) {
    const finished = existsSync(join(folder + REPLACEMENT, MANIFEST));
    if (finished) renameSync(folder + REPLACEMENT, folder);
    else if (existsSync(folder + REPLACED)) renameSync(folder + REPLACED, folder);
  }
  deleteOwnFiles(folder + REPLACEMENT);
  deleteOwnFiles(folder + REPLACED);
}

/** Delete what sluice wrote into a folder, and the folder when nothing else is in it. */
export function deleteOwnFiles(folder: string): void {
  if (!existsSync(folder)) return;
  rmSync(join(folder, MANIFEST), { force: true });
  const names = readdirSync(folder);
  const own = names.filter(isOwnFile);
  for (const name of own) rmSync(join(folder, name), { force: true });
  if (own.length === names.length) rmdirSync(folder);
}
