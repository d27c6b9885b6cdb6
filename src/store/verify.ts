/** Reading every byte of a cache, to see whether it is what was written. */
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { throwIfAborted } from "../errors.ts";
import { cacheBytes, openCache, weightFiles } from "./cache.ts";
import { ioError } from "./io-error.ts";
import { alignUp, layoutChunks } from "./layout.ts";
import type { StoredFile } from "./types.ts";

/** A stretch of a file that is not what was written. */
export interface Damage {
  readonly file: string;
  /** Index of the chunk; absent for the tokenizer. */
  readonly chunk?: number;
  readonly offset: number;
  readonly bytes: number;
  /** Names (in the model file) of the tensors that it holds. */
  readonly tensors: readonly string[];
}

export interface VerifyProgress {
  readonly file: string;
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface VerifyOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called after each chunk. */
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined;
}

export interface VerifyResult {
  readonly bytes: number;
  /** Empty for a sound cache. */
  readonly damages: readonly Damage[];
}

/**
 * Read every byte of a cache and compare the checksums.
 *
 * @throws SluiceError `bad-cache` where already the manifest or the size of a file is wrong, `io`, `aborted`
 */
export async function verifyCache(folder: string, options: VerifyOptions = {}): Promise<VerifyResult> {
  const { manifest } = openCache(folder);
  const totalBytes = cacheBytes(manifest);
  const damages: Damage[] = [];
  let doneBytes = 0;
  const progress = (file: string, bytes: number) => {
    throwIfAborted(options.signal);
    doneBytes += bytes;
    options.onProgress?.({ file, doneBytes, totalBytes });
  };
  const { name, bytes, crc32: expected } = manifest.tokenizer;
  if (crc32(await readWhole(join(folder, name))) !== expected)
    damages.push({ file: name, offset: 0, bytes, tensors: [] });
  progress(name, bytes);
  for (const file of weightFiles(manifest)) {
    const bad = await badChunks(folder, file, (bytes) => progress(file.name, bytes));
    damages.push(...bad.map((chunk) => describe(file, chunk)));
  }
  return { bytes: totalBytes, damages };
}

/**
 * Indices of the chunks of a file whose checksum is wrong, or that the file is too short for.
 *
 * @param onBytes called after each chunk with its bytes; what it throws is passed on
 */
export async function badChunks(
  folder: string,
  file: StoredFile,
  onBytes: (bytes: number) => void = () => {},
): Promise<number[]> {
  const path = join(folder, file.name);
  const longest = Math.max(0, ...file.chunks.map((chunk) => alignUp(chunk.stored)));
  const buffer = new Uint8Array(longest);
  const bad: number[] = [];
  let handle: Awaited<ReturnType<typeof open>> | undefined;
  try {
    handle = await open(path, "r");
    for (const [index, chunk] of file.chunks.entries()) {
      const part = buffer.subarray(0, alignUp(chunk.stored));
      const { bytesRead } = await handle.read(part, 0, part.length, chunk.offset);
      if (bytesRead !== part.length || crc32(part) !== chunk.crc32) bad.push(index);
      onBytes(part.length);
    }
    return bad;
  } catch (error) {
    throw ioError(error, "read", path);
  } finally {
    await handle?.close();
  }
}

function describe(file: StoredFile, index: number): Damage {
  const chunk = file.chunks[index];
  const { parts } = layoutChunks(file.tensors)[index];
  const tensors = new Set(parts.flatMap((part) => file.tensors[part.tensor].sources));
  return {
    file: file.name,
    chunk: index,
    offset: chunk.offset,
    bytes: alignUp(chunk.stored),
    tensors: [...tensors],
  };
}

async function readWhole(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw ioError(error, "read", path);
  }
}
