import { closeSync, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { SluiceError } from "../errors.ts";
import { Cursor } from "./cursor.ts";
import { foreignFile, foreignVersion } from "./foreign.ts";
import { MAX_ENTRIES, readMetadata } from "./metadata.ts";
import { alignUp, placeTensors, readTensorTable } from "./tensor-table.ts";
import type { Gguf, MetadataValue } from "./types.ts";

/** Used where `general.alignment` is absent (ggml's GGUF_DEFAULT_ALIGNMENT). */
const DEFAULT_ALIGNMENT = 32;
/** A key has a length of 8 bytes, a byte of text, a type and a byte of value; a tensor no less than this either. */
const MIN_KEY_BYTES = 14;
const MIN_TENSOR_BYTES = 24;

/**
 * Open a GGUF file of version 2 or 3 and read its header (ggml/docs/gguf.md); the tensor data stays in the file.
 *
 * Errors: `io` (missing, unreadable), `bad-input` (not a regular file), `bad-model` (not GGUF, damaged, cut short),
 * `unsupported` (version, big-endian, one part of a split model). Nothing is allocated by a number in the file that
 * the file's own size does not back.
 */
export function openGguf(path: string): Gguf {
  const fd = openRegular(path);
  try {
    return parse(path, fd);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function parse(path: string, fd: number): Gguf {
  const fileBytes = fstatSync(fd).size;
  const read = (offset: number, target: Uint8Array) => readFully(path, fd, offset, target);

  const head = new Uint8Array(Math.min(64, fileBytes));
  read(0, head);
  if (Buffer.from(head.subarray(0, 4)).toString("latin1") !== "GGUF") throw foreignFile(path, head);

  const cursor = new Cursor(path, read, 4, fileBytes, "header");
  const version = cursor.u32();
  if (version !== 2 && version !== 3) throw foreignVersion(path, version);
  cursor.what = "number of tensors";
  const tensorCount = entryCount(cursor, MIN_TENSOR_BYTES);
  cursor.what = "number of metadata keys";
  const keyCount = entryCount(cursor, MIN_KEY_BYTES);

  const metadata = readMetadata(cursor, keyCount);
  refuseSplit(path, metadata);
  const alignment = readAlignment(cursor, metadata);
  const table = readTensorTable(cursor, tensorCount);
  const headerBytes = alignUp(cursor.position, alignment);
  const tensors = placeTensors(cursor, table, headerBytes, alignment);
  return {
    path,
    fileBytes,
    version,
    alignment,
    headerBytes,
    metadata,
    tensors,
    read,
    close: () => closeSync(fd),
  };
}

function entryCount(cursor: Cursor, bytesEach: number): number {
  const count = cursor.count(bytesEach);
  if (count > MAX_ENTRIES) throw cursor.fail(`is ${count}, more than the ${MAX_ENTRIES} that are sane`);
  return count;
}

function readAlignment(cursor: Cursor, metadata: ReadonlyMap<string, MetadataValue>): number {
  const entry = metadata.get("general.alignment");
  if (entry === undefined) return DEFAULT_ALIGNMENT;
  cursor.what = "metadata general.alignment";
  if (entry.type !== "uint32") throw cursor.fail(`is of type ${entry.type}; it must be uint32`);
  if (entry.value === 0 || (entry.value & (entry.value - 1)) !== 0) {
    throw cursor.fail(`is ${entry.value}; it must be a power of two`);
  }
  return entry.value;
}

/** Parts of a split model carry `split.no` (from 0) and `split.count`; only the first has the model's metadata. */
function refuseSplit(path: string, metadata: ReadonlyMap<string, MetadataValue>): void {
  const count = metadata.get("split.count");
  if (
    count === undefined ||
    typeof count.type !== "string" ||
    count.type === "array" ||
    Number(count.value) <= 1
  )
    return;
  const number = metadata.get("split.no");
  const part = number !== undefined && number.type !== "array" ? Number(number.value) + 1 : "?";
  throw new SluiceError("unsupported", `${path} is part ${part} of ${count.value} of a split model`, {
    next: "sluice does not read split models yet. Merge the parts: llama-gguf-split --merge FIRST-PART.gguf MERGED.gguf",
  });
}

/** Opening a FIFO would block, so what it is comes first. */
function openRegular(path: string): number {
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

function readFully(path: string, fd: number, offset: number, target: Uint8Array): void {
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
