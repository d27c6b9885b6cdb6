import { closeSync, read } from "node:fs";
import { promisify } from "node:util";
import { SluiceError, throwIfAborted } from "../errors.ts";
import { reasonOf } from "../store/io-error.ts";
import { openFile } from "./open-file.ts";
import type { ChunkRead } from "./sweep-plan.ts";

const readFile = promisify(read);

/**
 * Read chunks of a file, one after the other, beside whatever else is going on.
 *
 * @param target where a chunk is to be: (bytes), 4096-byte aligned in memory where it is read past the page cache
 * @throws SluiceError `io`, `bad-cache` where the file is too short, `aborted`
 */
export async function loadChunks(
  path: string,
  chunks: readonly ChunkRead[],
  { direct, signal }: { readonly direct: boolean; readonly signal?: AbortSignal | undefined },
  target: (chunk: ChunkRead) => Uint8Array,
): Promise<void> {
  const failed = (error: unknown) =>
    new SluiceError("io", `cannot read ${path}: ${reasonOf(error)}`, {
      next: "Check the disk that it is on; if the file is removed, it is made again.",
      cause: error,
    });
  let file: number;
  try {
    file = openFile(path, direct);
  } catch (error) {
    throw failed(error);
  }
  try {
    for (const chunk of chunks) {
      const { offset, bytes } = chunk;
      throwIfAborted(signal);
      const bytesRead = await readFile(file, target(chunk), 0, bytes, offset).then(
        (got) => got.bytesRead,
        (error) => {
          throw failed(error);
        },
      );
      if (bytesRead < bytes)
        throw new SluiceError("bad-cache", `${path} ends at byte ${offset + bytesRead}: it is truncated`, {
          next: "Remove the file: it is made again.",
        });
    }
  } finally {
    closeSync(file);
  }
}
