/** Disk space for segments: a bound over all models of a cache root, kept by deleting what was used longest ago. */
import { readdir, rm, stat, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { cacheFolders } from "../store/cache.ts";
import { isPromptFile, isPromptTemporary } from "../store/names.ts";

/** Bytes of the disk that are left to others. */
const LEFT_FREE = 1e9;
/** A file that has been written for so long is one of a process that died. */
const ABANDONED_MS = 3_600_000;

interface Found {
  readonly path: string;
  readonly bytes: number;
  /** When it was used last. */
  readonly used: number;
}

export class Room {
  readonly #folder: string;
  readonly #most: number;
  /** Bytes of all segments, as far as this process knows; others may write as well. */
  #taken: number | undefined;

  /**
   * @param folder of an unpacked model
   * @param most bytes, of this model and those beside it
   */
  constructor(folder: string, most: number) {
    this.#folder = folder;
    this.#most = most;
  }

  /**
   * See that there is room for so many bytes, which are written next.
   *
   * @throws SluiceError `no-space` where the disk has too little, or the operating system's error
   */
  async make(bytes: number): Promise<void> {
    if (this.#taken === undefined || this.#taken + bytes > this.#most)
      this.#taken = await shrink(await findSegments(this.#folder), this.#most - bytes);
    const { bavail, bsize } = await statfs(this.#folder);
    if (bavail * bsize < LEFT_FREE + bytes)
      throw new SluiceError("no-space", `only ${formatBytes(bavail * bsize)} are free on its disk`);
    this.#taken += bytes;
  }
}

/** Delete the oldest until the others take no more than `most`. @returns how much they take */
async function shrink(segments: readonly Found[], most: number): Promise<number> {
  let taken = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { path, bytes } of [...segments].sort((a, b) => a.used - b.used)) {
    if (taken <= most) break;
    // What cannot be deleted, for it is another user's, takes its room all the same.
    await rm(path, { force: true }).then(
      () => {
        taken -= bytes;
      },
      () => {},
    );
  }
  return taken;
}

async function findSegments(folder: string): Promise<Found[]> {
  const root = dirname(folder);
  const folders = new Set([...cacheFolders(root), basename(folder)]);
  const found: Found[] = [];
  for (const name of folders) {
    for (const file of await readdir(join(root, name)).catch(() => [])) {
      if (!isPromptFile(file) && !isPromptTemporary(file)) continue;
      const path = join(root, name, file);
      const stats = await stat(path).catch(() => undefined);
      if (stats === undefined) continue;
      const abandoned = isPromptTemporary(file) && Date.now() - stats.mtimeMs > ABANDONED_MS;
      if (abandoned) await rm(path, { force: true }).catch(() => {});
      else found.push({ path, bytes: stats.size, used: stats.mtimeMs });
    }
  }
  return found;
}
