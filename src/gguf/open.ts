import { statSync } from "node:fs";
import { openFile } from "./open-file.ts";
import { openSet, partCount } from "./split.ts";
import { partInFolder } from "./split-names.ts";
import type { Gguf } from "./types.ts";

/**
 * Open a GGUF model of version 2 or 3 and read its header (ggml/docs/gguf.md); the tensor data stays in the file.
 *
 * Errors: `io` (missing, unreadable), `bad-input` (not a regular file), `bad-model` (not GGUF, damaged, cut short,
 * parts that do not fit together), `unsupported` (version, big-endian). Nothing is allocated by a number in the file
 * that the file's own size does not back.
 *
 * @param path a file, any part of a split model, or the folder that holds the parts of one
 */
export function openGguf(path: string): Gguf {
  const folder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const file = openFile(folder ? partInFolder(path) : path);
  let parts: number;
  try {
    parts = partCount(file);
  } catch (error) {
    file.close();
    throw error;
  }
  return parts > 1 ? openSet(file) : file;
}
