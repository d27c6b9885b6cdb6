/** Looking after the caches below a root: what there is, and taking it away. */
import { readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { SluiceError } from "../errors.ts";
import { cacheFolders, openCache } from "./cache.ts";
import { ioError } from "./io-error.ts";
import { lockHolder } from "./lock.ts";
import { outdatedFormat } from "./manifest.ts";
import { isOwnFile, isOwnFolder, isPromptFile, isPromptTemporary, JOURNAL, MANIFEST } from "./names.ts";
import type { Manifest } from "./types.ts";

export interface CacheEntry {
  readonly name: string;
  readonly folder: string;
  /**
   * "busy": being unpacked now; "unfinished": an unpack was interrupted; "outdated": of another cache format than
   * this sluice reads; "damaged": `problem` says how.
   */
  readonly state: "finished" | "busy" | "unfinished" | "outdated" | "damaged";
  readonly problem?: string;
  /** Bytes of all files that are there, but for prompts. */
  readonly bytes: number;
  /** Bytes of beginnings of prompts that are kept. */
  readonly promptBytes: number;
  /** Time of the last change, but for prompts. */
  readonly modified: Date;
  readonly manifest?: Manifest;
}

/**
 * All caches below a root, by name.
 *
 * @throws SluiceError `io` where the root cannot be read; a root that is not there has no caches
 */
export function listCaches(root: string): CacheEntry[] {
  return cacheFolders(root, true).map((name) => describe(name, join(root, name)));
}

function describe(name: string, folder: string): CacheEntry {
  const files = readdirSync(folder)
    .map((file) => ({ file, stats: statSync(join(folder, file), { throwIfNoEntry: false }) }))
    .filter(({ stats }) => stats?.isFile());
  const prompts = files.filter(({ file }) => isPrompt(file));
  const others = files.filter(({ file }) => !isPrompt(file));
  const times = others.length > 0 ? others.map(({ stats }) => stats!.mtimeMs) : [statSync(folder).mtimeMs];
  const sum = (some: typeof files) => some.reduce((sum, { stats }) => sum + stats!.size, 0);
  const entry = {
    name,
    folder,
    bytes: sum(others),
    promptBytes: sum(prompts),
    modified: new Date(Math.max(...times)),
  };
  if (lockHolder(folder)) return { ...entry, state: "busy" };
  if (!files.some(({ file }) => file === MANIFEST)) return { ...entry, state: "unfinished" };
  try {
    return { ...entry, state: "finished", manifest: openCache(folder).manifest };
  } catch (error) {
    const state = outdatedFormat(folder) === undefined ? "damaged" : "outdated";
    return { ...entry, state, problem: (error as Error).message };
  }
}

/**
 * Delete a cache folder, finished or not. Only files that sluice wrote are ever deleted.
 *
 * @throws SluiceError `bad-input` for a folder that is not a cache or holds other files too (nothing is deleted
 *   then), `locked` for one that is being unpacked, `io`
 */
export function removeCache(folder: string): void {
  const names = readNames(folder);
  const known = isOwnFolder(basename(folder)) || names.includes(MANIFEST) || names.includes(JOURNAL);
  const foreign = names.find((name) => !isOwnFile(name));
  if (!known || foreign !== undefined) {
    const reason =
      foreign === undefined ? "it is no cache of sluice" : `it holds ${foreign}, which is not sluice's`;
    throw new SluiceError("bad-input", `${folder} is not deleted: ${reason}`, {
      next: "`sluice cache ls` shows the caches; delete anything else by hand.",
    });
  }
  const holder = lockHolder(folder);
  if (holder) {
    throw new SluiceError(
      "locked",
      `${folder} is being unpacked by process ${holder.pid} on ${holder.host}`,
      {
        next: "Wait for it or stop it first.",
      },
    );
  }
  try {
    // The manifest first: what is left after a crash is an unfinished cache, never a damaged one.
    rmSync(join(folder, MANIFEST), { force: true });
    for (const name of names) rmSync(join(folder, name), { force: true });
    rmdirSync(folder);
  } catch (error) {
    throw ioError(error, "delete", folder);
  }
}

/**
 * Delete the beginnings of prompts of a cache.
 *
 * @throws SluiceError `io`
 */
export function removePrompts(folder: string): void {
  try {
    for (const name of readNames(folder)) if (isPrompt(name)) rmSync(join(folder, name), { force: true });
  } catch (error) {
    throw ioError(error, "delete prompts in", folder);
  }
}

function isPrompt(name: string): boolean {
  return isPromptFile(name) || isPromptTemporary(name);
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    throw ioError(error, "read", folder);
  }
}
