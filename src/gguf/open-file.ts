import { closeSync, fstatSync } from "node:fs";
import { Cursor } from "./cursor.ts";
import { foreignFile, foreignVersion } from "./foreign.ts";
import { MAX_ENTRIES, readMetadata } from "./metadata.ts";
import { openRegular, readFully } from "./read-file.ts";
import { alignUp, placeTensors, readTensorTable } from "./tensor-table.ts";
import type { Gguf, MetadataValue } from "./types.ts";

/** Used where `general.alignment` is absent (ggml's GGUF_DEFAULT_ALIGNMENT). */
const DEFAULT_ALIGNMENT = 32;
/** A key has a length of 8 bytes, a byte of text, a type and a byte of value; a tensor no less than this either. */
const MIN_KEY_BYTES = 14;
const MIN_TENSOR_BYTES = 24;

/** Open one file and read its header: a model, or a part of one. Errors as of `openGguf`. */
export function openFile(path: string): Gguf {
  const fd = openRegular(path);
  try {
    return parse(path, fd);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function parse(path: string, fd: number): Gguf {
  const { size: fileBytes, mtimeMs: modified } = fstatSync(fd);
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
  const alignment = readAlignment(cursor, metadata);
  const tableStart = cursor.position;
  const table = readTensorTable(cursor, tensorCount);
  const tableEnd = cursor.position;
  const headerBytes = alignUp(tableEnd, alignment);
  const tensors = placeTensors(cursor, table, headerBytes, alignment);
  return {
    path,
    fileBytes,
    version,
    alignment,
    headerBytes,
    metadata,
    tensors,
    parts: [{ path, start: 0, bytes: fileBytes, tableStart, tableEnd, headerBytes, modified }],
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
