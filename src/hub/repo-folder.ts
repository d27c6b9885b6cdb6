/**
 * A repository in the Hugging Face cache, laid out as huggingface_hub does: `blobs/DIGEST` has the bytes,
 * `snapshots/COMMIT/PATH` is a link to a blob, `refs/main` names a commit.
 */
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { SluiceError } from "../errors.ts";
import { repoFolder } from "../models-on-disk/hugging-face.ts";
import { namesIn } from "../models-on-disk/model-files.ts";
import { writeFileAtomic } from "../store/atomic.ts";
import { errorCode } from "../store/io-error.ts";
import type { HubFile } from "./types.ts";

/** Ending of a blob that is still coming. */
export const INCOMPLETE = ".incomplete";

/** What systems say that have no symbolic links, or not for everybody (Windows). */
const NO_LINKS = new Set(["EPERM", "EACCES", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EINVAL", "UNKNOWN"]);

/** A file or link in a snapshot. */
export interface Pointer {
  readonly path: string;
  /** What it links to; undefined for a file, and for a link to something that is no blob of this repository. */
  readonly blob: string | undefined;
  /** What it takes itself: of a link nothing. */
  readonly bytes: number;
}

/** Where a repository is in the cache, or would be: an absolute path, as those that links lead to. */
export function folderOf(cacheDir: string, repo: string): string {
  const root = resolve(cacheDir);
  return repoFolder(root, repo) ?? join(root, `models--${repo.replaceAll("/", "--")}`);
}

export function blobPath(folder: string, { digest }: Pick<HubFile, "digest">): string {
  return join(folder, "blobs", digest);
}

export function snapshotPath(folder: string, commit: string): string {
  return join(folder, "snapshots", commit);
}

/** What `acquireLock` gets for a blob: beside those of huggingface_hub, so that the folder holds nothing else. */
export function lockPath(blob: string): string {
  const folder = dirname(dirname(blob));
  return join(dirname(folder), ".locks", basename(folder), basename(blob));
}

/** Bytes of a file, or of what a link leads to; undefined where there is none. */
export function sizeOf(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? found.size : undefined;
}

/**
 * Make a file of a snapshot out of its blob: a link, or where the system has none the file itself, of which a copy stays only
 * where others need it.
 *
 * @param link makes the link
 */
export function placeFile(folder: string, commit: string, file: HubFile, link = symlinkSync): void {
  const blob = blobPath(folder, file);
  const path = join(snapshotPath(folder, commit), ...file.path.split("/"));
  if (sizeOf(path) === file.bytes) return;
  mkdirSync(dirname(path), { recursive: true });
  checkInside(folder, dirname(path));
  rmSync(path, { force: true });
  try {
    link(relative(dirname(path), blob), path);
  } catch (error) {
    const code = errorCode(error) ?? "";
    // Another pull may have made it in the meantime.
    if (code === "EEXIST" && sizeOf(path) === file.bytes) return;
    if (!NO_LINKS.has(code)) throw error;
    if (pointersIn(folder).some((pointer) => pointer.blob === blob)) {
      copyFileSync(blob, path + INCOMPLETE);
      renameSync(path + INCOMPLETE, path);
    } else renameSync(blob, path);
  }
}

/**
 * See that a folder of a repository is where it seems to be: what links lead to elsewhere is not written or removed.
 *
 * @throws SluiceError `bad-input`
 */
export function checkInside(folder: string, part: string): void {
  if (!existsSync(part)) return;
  const [real, inside] = [realpathSync(folder), realpathSync(part)];
  if (inside === join(real, relative(folder, part))) return;
  throw new SluiceError("bad-input", `${part} is a link to ${inside}, outside of ${folder}`, {
    next: "Remove the link; the cache of other programs has none there.",
  });
}

/** The folders of a repository that hold files, where they are: see `checkInside`. */
export function checkFolders(folder: string): void {
  for (const name of ["blobs", "snapshots", "refs"]) checkInside(folder, join(folder, name));
}

/** Note which commit `main` is. */
export function writeMain(folder: string, commit: string): void {
  const path = join(folder, "refs", "main");
  mkdirSync(dirname(path), { recursive: true });
  writeFileAtomic(path, Buffer.from(commit));
}

/** All files and links of all snapshots. */
export function pointersIn(folder: string): Pointer[] {
  const blobs = join(folder, "blobs");
  return filesIn(join(folder, "snapshots")).map((path) => {
    const found = lstatSync(path);
    if (!found.isSymbolicLink()) return { path, blob: undefined, bytes: found.size };
    const target = resolve(dirname(path), readlinkSync(path));
    return { path, blob: dirname(target) === blobs ? target : undefined, bytes: 0 };
  });
}

/** Blobs, and parts of blobs, that no snapshot uses: what is left of pulls that did not end. */
export function leftoversIn(folder: string): string[] {
  const used = new Set(pointersIn(folder).map(({ blob }) => blob));
  const blobs = join(folder, "blobs");
  return namesIn(blobs)
    .map((name) => join(blobs, name))
    .filter((path) => !used.has(path) && lstatSync(path).isFile());
}

/** Files and links below a folder, without following links. */
function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name));
}
