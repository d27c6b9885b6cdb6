/** What a cache folder would lie on. */
import { existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";

export interface Medium {
  readonly kind: "disk" | "memory" | "network";
  /** Name of the file system where `kind` is not "disk". */
  readonly fileSystem?: string;
  /** Bytes that an ordinary user may still write. */
  readonly freeBytes: number;
}

/** `f_type` of statfs on Linux (include/uapi/linux/magic.h, fs/nfs, fs/smb). */
const FILE_SYSTEMS: Readonly<Record<number, readonly ["memory" | "network", string]>> = {
  16914836: ["memory", "tmpfs"],
  2240043254: ["memory", "ramfs"],
  26985: ["network", "nfs"],
  4283649346: ["network", "cifs"],
  4266872130: ["network", "smb"],
  20859: ["network", "smb"],
  16914839: ["network", "9p"],
  12805120: ["network", "ceph"],
  1397113167: ["network", "afs"],
  198183888: ["network", "lustre"],
  1196443219: ["network", "gpfs"],
};

/** The file system of a folder, or of the nearest folder above it that exists. */
export function mediumOf(folder: string): Medium {
  let existing = folder;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  const { type, bavail, bsize } = statfsSync(existing);
  const known = process.platform === "linux" ? FILE_SYSTEMS[type >>> 0] : undefined;
  const freeBytes = bavail * bsize;
  return known ? { kind: known[0], fileSystem: known[1], freeBytes } : { kind: "disk", freeBytes };
}
