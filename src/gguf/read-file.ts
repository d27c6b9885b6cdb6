import { openSync, readSync, type Stats, statSync } from "node:fs";
import { SluiceError } from "../errors.ts";

/** Open a regular file for reading. Opening a FIFO would block, so what it is comes first. */
export function openRegular(path: string): number {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) {
      throw new SluiceError("bad-input", `${path} is ${kindOf(stats)}, not a file`, {
        next: "Give the path of a .gguf file.",
      });
    }
    return openSync(path, "r");
  } catch (cause) {
    if (cause instanceof SluiceError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new SluiceError("io", `${path} does not exist`, {
        next: "Check the path of the model file.",
        cause,
      });
    }
    throw new SluiceError("io", `cannot open ${path}: ${(cause as Error).message}`, {
      next: "Check that you may read the file.",
      cause,
    });
  }
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return "a directory";
  if (stats.isFIFO()) return "a pipe";
  return stats.isSocket() ? "a socket" : "a device";
}

/** Fill `target` with the bytes at `offset`. */
export function readFully(path: string, fd: number, offset: number, target: Uint8Array): void {
  let done = 0;
  while (done < target.length) {
    const bytes = readAt(path, fd, target, done, offset + done);
    if (bytes === 0) {
      throw new SluiceError(
        "bad-model",
        `${path} ends at byte ${offset + done}; ${target.length - done} more were expected`,
        {
          next: "The file was cut short, or changed while it was read; download it again.",
        },
      );
    }
    done += bytes;
  }
}

function readAt(path: string, fd: number, target: Uint8Array, done: number, position: number): number {
  try {
    // One read(2) moves at most 2^31 - 1 bytes.
    return readSync(fd, target, done, Math.min(target.length - done, 0x4000_0000), position);
  } catch (cause) {
    throw new SluiceError("io", `reading ${path} at byte ${position} failed: ${(cause as Error).message}`, {
      next: "Check the disk that the file is on.",
      cause,
    });
  }
}
