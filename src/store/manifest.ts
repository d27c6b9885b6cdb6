/** The manifest: what a cache folder holds. A folder is a finished cache from the moment that it has one. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Packr } from "msgpackr";
import { SluiceError } from "../errors.ts";
import { writeFileAtomic } from "./atomic.ts";
import { errorCode, ioError } from "./io-error.ts";
import { checkManifest } from "./manifest-check.ts";
import { MANIFEST, UNPACK_AGAIN } from "./names.ts";
import type { Manifest } from "./types.ts";

/** Version of the cache format; raised whenever older caches can no longer be read. */
export const CACHE_FORMAT = 3;
/** A manifest has some 50 bytes per chunk of a mebibyte: this would be a model of terabytes. */
const LARGEST_MANIFEST = 256 << 20;

/** Plain MessagePack, readable by any implementation. */
const packr = new Packr({ useRecords: false });

export function encodeMessage(value: unknown): Uint8Array {
  return packr.pack(value);
}

/** @throws whatever the decoder throws on bytes that are no MessagePack */
export function decodeMessage(bytes: Uint8Array): unknown {
  return packr.unpack(bytes);
}

/**
 * Write a folder's manifest, atomically and durably: the last step of unpacking.
 *
 * @throws the operating system's error
 */
export function writeManifest(folder: string, manifest: Manifest): void {
  writeFileAtomic(join(folder, MANIFEST), encodeMessage(manifest));
}

/**
 * Read and check a folder's manifest. What it says can be relied on: every number is in range, chunks tile their
 * files and match the tensors. Whether the files are there is for `openCache` to see.
 *
 * @throws SluiceError `bad-cache` for a folder that is no finished cache, one of another format version, or a
 *   manifest that is damaged; `io` where it cannot be read
 */
export function readManifest(folder: string): Manifest {
  const path = join(folder, MANIFEST);
  const value = decode(path, readBytes(folder, path));
  const format = otherFormat(value);
  if (format !== undefined) {
    throw new SluiceError(
      "bad-cache",
      `${folder} is of cache format ${format}, this sluice reads format ${CACHE_FORMAT}`,
      { next: "Run `sluice unpack` on the model file: it replaces the old cache." },
    );
  }
  const problem = checkManifest(value);
  if (problem !== undefined) throw damaged(path, problem);
  return value as Manifest;
}

/**
 * The format of a folder's cache where it is another than this sluice reads; undefined too where there is no manifest
 * that tells one.
 *
 * @throws SluiceError `io` where the manifest cannot be read
 */
export function outdatedFormat(folder: string): number | undefined {
  const path = join(folder, MANIFEST);
  try {
    return otherFormat(decode(path, readBytes(folder, path)));
  } catch (error) {
    if (error instanceof SluiceError && error.code === "bad-cache") return undefined;
    throw error;
  }
}

function otherFormat(value: unknown): number | undefined {
  const format = (value as { format?: unknown } | null)?.format;
  return typeof format === "number" && format !== CACHE_FORMAT ? format : undefined;
}

function readBytes(folder: string, path: string): Uint8Array {
  try {
    const { size } = statSync(path);
    if (size > LARGEST_MANIFEST) throw damaged(path, `${size} bytes are more than any manifest has`);
    return readFileSync(path);
  } catch (error) {
    const code = errorCode(error);
    if (code !== "ENOENT" && code !== "ENOTDIR") throw ioError(error, "read", path);
    throw new SluiceError("bad-cache", `${folder} is no unpacked model: it has no ${MANIFEST}`, {
      next: "Give a GGUF file, or run `sluice unpack` on it: an interrupted unpack continues.",
      cause: error,
    });
  }
}

function decode(path: string, bytes: Uint8Array): unknown {
  try {
    return decodeMessage(bytes);
  } catch (error) {
    throw damaged(path, `it is no MessagePack (${(error as Error).message})`);
  }
}

function damaged(path: string, problem: string): SluiceError {
  return new SluiceError("bad-cache", `${path} is damaged: ${problem}`, { next: UNPACK_AGAIN });
}
