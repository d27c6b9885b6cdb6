/** What processes that died while they saved have left: half-written files, and their claims to the lock. */
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { lockHolder } from "../store/lock.ts";
import { ENDING, TEMPORARY } from "./names.ts";
import { whileLocked } from "./while-locked.ts";

const CLAIM = /\.lock-[0-9a-f]+$/;

/**
 * Remove them from a folder. Nobody waits for that, and where it cannot be done the files stay: they do no harm.
 *
 * @param names of the files in the folder
 */
export async function removeAbandoned(folder: string, names: readonly string[]): Promise<void> {
  const left = names.filter((name) => TEMPORARY.test(name) || CLAIM.test(name));
  const saved = new Set(left.map((name) => name.replace(TEMPORARY, ENDING).replace(CLAIM, "")));
  for (const name of saved) {
    const path = join(folder, name);
    // Looking for a holder removes the claims of dead ones.
    if (lockHolder(path)) continue;
    await whileLocked(path, () => removeTemporaries(path)).catch(() => {});
  }
}

/** Remove half-written files of one conversation; only for whoever holds its lock: they are nobody's then. */
export async function removeTemporaries(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder))
    if (TEMPORARY.test(name) && name.replace(TEMPORARY, ENDING) === basename(path))
      await rm(join(folder, name), { force: true });
}
