import { randomBytes } from "node:crypto";
import { closeSync, openSync, readSync, rmSync, statfsSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { ioError, reasonOf } from "../store/io-error.ts";

const NEXT = "Make room on that disk, take a shorter context (-c), or give --kv-ram more.";

/**
 * A file without a name, beside the caches, for what does not stay in memory: gone when the process ends, however it
 * ends.
 */
export class KvFile {
  /** Threads of the process read and write by it. */
  readonly descriptor: number;
  /** Where the platform deletes no open file: deleted at the end. */
  readonly #left: string | undefined;

  /**
   * @param folder of the unpacked model
   * @param bytes that it may come to have
   * @throws SluiceError `no-space`, `io`
   */
  constructor(folder: string, bytes: number) {
    const name = `.sluice-kv-${randomBytes(6).toString("hex")}.tmp`;
    const path = join(dirname(folder), name);
    try {
      this.descriptor = openSync(path, "wx+", 0o600);
    } catch (error) {
      throw ioError(error, "write", path, "Unpack the model where it can be written, or leave out --kv-ram.");
    }
    const { bavail, bsize } = statfsSync(dirname(path));
    try {
      rmSync(path, { force: true });
    } catch {
      this.#left = path;
    }
    if (bavail * bsize >= bytes) return;
    this.close();
    throw new SluiceError(
      "no-space",
      `keys and values may take ${formatBytes(bytes)} of disk, and ${dirname(path)} has ${formatBytes(bavail * bsize)} free`,
      { next: NEXT },
    );
  }

  close(): void {
    closeSync(this.descriptor);
    if (this.#left) rmSync(this.#left, { force: true });
  }
}

/** Read a part of a file that was written before. @throws SluiceError `io` */
export function readPart(descriptor: number, target: Uint8Array, offset: number): void {
  try {
    for (let done = 0; done < target.length; ) {
      const got = readSync(descriptor, target, done, target.length - done, offset + done);
      // Never written: zeros.
      if (got === 0) {
        target.fill(0, done);
        return;
      }
      done += got;
    }
  } catch (error) {
    throw new SluiceError("io", `keys and values cannot be read from the disk: ${reasonOf(error)}`, {
      next: NEXT,
    });
  }
}

/** @throws SluiceError `no-space`, `io` */
export function writePart(descriptor: number, bytes: Uint8Array, offset: number): void {
  try {
    for (let done = 0; done < bytes.length; )
      done += writeSync(descriptor, bytes, done, bytes.length - done, offset + done);
  } catch (error) {
    throw ioError(error, "write", "keys and values to the disk", NEXT);
  }
}
