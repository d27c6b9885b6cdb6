/** Downloads leave the Hugging Face cache: links, blobs that nothing else links to, and folders that are empty then. */
import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { SluiceError } from "../errors.ts";
import { parseHubName } from "../models-on-disk/find-model.ts";
import { readMain } from "../models-on-disk/hugging-face.ts";
import { fittingFiles, listed, modelsAmong, namesIn, quantOf } from "../models-on-disk/model-files.ts";
import { lockHolder } from "../store/lock.ts";
import { safetensorsSet } from "./model-set.ts";
import {
  checkFolders,
  folderOf,
  INCOMPLETE,
  leftoversIn,
  lockPath,
  type Pointer,
  pointersIn,
  sizeOf,
} from "./repo-folder.ts";

/** A model in the cache that may be removed. */
export interface Download {
  /** `hf:org/repo[:quant]` */
  readonly name: string;
  /** The folder of its repository. */
  readonly folder: string;
  /** What it consists of, as people know it: paths within the repository, and unfinished downloads. */
  readonly files: readonly string[];
  /** Bytes that removing it frees. */
  readonly bytes: number;
  /** Links and files, then blobs and parts of blobs. */
  readonly paths: readonly string[];
}

/**
 * A model that was downloaded, in all snapshots that have it. Without a quant also what is left of downloads that did not end.
 *
 * @throws SluiceError `bad-input` for a name that is none, is not here or could be several, with what there is; `locked` while it
 *   is being downloaded
 */
export function findDownload(cacheDir: string, name: string): Download {
  const { repo, quant } = parseHubName(name);
  const folder = folderOf(cacheDir, repo);
  if (!existsSync(folder)) throw notHere(`${name} is not in the Hugging Face cache ${cacheDir}`);
  checkFolders(folder);
  const pointers = pointersIn(folder);
  const wanted = new Set(wantedFiles(folder, pointers, name, quant));
  const taken = pointers.filter((pointer) => wanted.has(pathInRepo(folder, pointer)));
  const kept = new Set(pointers.filter((pointer) => !taken.includes(pointer)).map(({ blob }) => blob));
  const leftovers = quant === undefined ? leftoversIn(folder) : [];
  if (taken.length === 0 && leftovers.length === 0) throw notHere(`there is nothing of ${name} in ${folder}`);
  const own = taken.flatMap(({ blob }) => (blob === undefined || kept.has(blob) ? [] : [blob]));
  const blobs = [...new Set([...own, ...leftovers])];
  for (const blob of blobs) checkIsFree(name, blob);
  const sizes = [...taken.map(({ bytes }) => bytes), ...blobs.map((blob) => sizeOf(blob) ?? 0)];
  return {
    name,
    folder,
    files: [...wanted, ...(leftovers.length > 0 ? [`${leftovers.length} unfinished`] : [])],
    bytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
    paths: [...taken.map(({ path }) => path), ...blobs],
  };
}

/** Remove it; killed in between, the same name is found again and the rest of it removed. */
export function removeDownload({ folder, paths }: Download): void {
  for (const path of paths) {
    rmSync(path, { force: true });
    removeEmpty(dirname(path), folder);
  }
  const main = readMain(folder);
  if (main !== undefined && !namesIn(join(folder, "snapshots")).includes(main))
    rmSync(join(folder, "refs", "main"), { force: true });
  for (const name of ["snapshots", "blobs", "refs", "."]) removeEmpty(join(folder, name), dirname(folder));
}

/** @throws SluiceError `bad-input` for what could be several */
function wantedFiles(
  folder: string,
  pointers: readonly Pointer[],
  name: string,
  quant: string | undefined,
): readonly string[] {
  const all = [...new Set(pointers.map((pointer) => pathInRepo(folder, pointer)))].sort();
  const models = modelsAmong(all);
  if (models.length === 0 && quant === undefined) return safetensorsSet(all) ?? [];
  const fitting = fittingFiles(models, quant);
  if (fitting.length === 1) return fitting[0].files;
  if (models.length === 0) throw notHere(`${name} is not here; in ${folder} there is ${listed(all)}`);
  const names = (fitting.length > 0 ? fitting : models).map((model) => model.name);
  throw new SluiceError(
    "bad-input",
    fitting.length > 0
      ? `${name} could be ${fitting.length} models: ${listed(names)}`
      : `${name} is not here; there is ${listed(names)}`,
    {
      next: `Name one by a part of its file name: ${name.split(":").slice(0, 2).join(":")}:${quantOf(names[0])}`,
    },
  );
}

/** Without the folder of the snapshot. */
function pathInRepo(folder: string, { path }: Pointer): string {
  return relative(join(folder, "snapshots"), path).split(sep).slice(1).join("/");
}

/** @throws SluiceError `locked` */
function checkIsFree(name: string, blob: string): void {
  const holder = lockHolder(lockPath(blob.endsWith(INCOMPLETE) ? blob.slice(0, -INCOMPLETE.length) : blob));
  if (holder === undefined) return;
  throw new SluiceError("locked", `process ${holder.pid} is downloading ${name}: ${basename(blob)}`, {
    next: "Wait for it, or stop it first.",
  });
}

/** Remove a folder and those above it as far as they are empty, but not `end`. */
function removeEmpty(folder: string, end: string): void {
  for (let at = folder; at !== end && at.startsWith(end); at = dirname(at)) {
    try {
      if (readdirSync(at).length > 0) return;
      rmdirSync(at);
    } catch {
      return;
    }
  }
}

function notHere(problem: string): SluiceError {
  return new SluiceError("bad-input", problem, {
    next: "Names are those that MODEL takes, hf:ORG/REPO[:QUANT]; what was unpacked is listed by `sluice cache ls`.",
  });
}
