/** Disk space: foreseen before the first byte, and told with numbers when it runs out all the same. */
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { limitAdvice, reasonOf } from "../store/io-error.ts";
import { alignUp } from "../store/layout.ts";
import type { Compression, Dtype } from "../store/types.ts";
import type { PlannedFile } from "./planned-file.ts";

/** The best that compression was seen to do (weights that were bfloat16); see compression.ts. */
const BEST_COMPRESSION = 2.7;

/**
 * Bytes that files take on disk, in whole pages. Of what compression leaves only a lower bound is known.
 *
 * @param files weight files still to be written
 * @param rest sizes of the other files
 */
export function neededBytes(
  files: readonly PlannedFile[],
  compression: Compression,
  rest: readonly number[],
): number {
  const weights = files.reduce((sum, { bytes, compressible }) => {
    return sum + (compression === "lz4" && compressible ? alignUp(bytes / BEST_COMPRESSION) : bytes);
  }, 0);
  return rest.reduce((sum, bytes) => sum + alignUp(bytes), weights);
}

export interface SpaceQuestion {
  readonly folder: string;
  readonly needed: number;
  readonly dtype: Dtype;
  readonly compression: Compression;
  /** Dtypes in which all weight files take fewer bytes, and how many. */
  readonly smaller: ReadonlyMap<Dtype, number>;
}

/** @throws SluiceError `no-space` where fewer bytes are free than needed */
export function checkSpace(question: SpaceQuestion): void {
  const free = freeBytes(question.folder);
  if (free >= question.needed) return;
  const { folder, needed, compression } = question;
  const atLeast = compression === "lz4" ? "at least " : "";
  throw new SluiceError(
    "no-space",
    `not enough disk space: unpacking needs ${atLeast}${exactly(needed)}, ${dirname(folder)} has ${exactly(free)} free`,
    { next: remedies(question) },
  );
}

/**
 * The error for a disk that became full although there had been room.
 *
 * @param file what was being written
 * @param continues whether the next run has something to continue from
 */
export function diskFull(
  cause: unknown,
  file: string,
  question: SpaceQuestion,
  continues: boolean,
): SluiceError {
  const { folder, needed } = question;
  const kept = continues ? "Complete files are kept, and the same command continues. " : "";
  const limit = limitAdvice(cause);
  if (limit !== undefined) {
    return new SluiceError("no-space", `${reasonOf(cause)}: ${file} could not be written`, {
      next: kept + limit,
      cause,
    });
  }
  return new SluiceError(
    "no-space",
    `${reasonOf(cause)}: ${file} could not be written; unpacking needs ${exactly(needed)}, ${dirname(folder)} has ${exactly(freeBytes(dirname(folder)))} free now`,
    { next: kept + remedies(question), cause },
  );
}

function remedies({ dtype, compression, smaller }: SpaceQuestion): string {
  const dtypes = [...smaller].map(([other, bytes]) => `--dtype ${other} needs ${formatBytes(bytes)}`);
  const compress =
    compression === "none" && dtype === "f32" ? ["--compress lz4 may save a quarter or more"] : [];
  return `Free some space, or: ${[...dtypes, ...compress, "--cache-dir DIR uses another disk"].join("; ")}.`;
}

/** @throws SluiceError `no-space` where a folder's disk has not so many bytes free */
export function checkFree(folder: string, needed: number, what: string): void {
  const free = freeBytes(folder);
  if (free >= needed) return;
  throw new SluiceError(
    "no-space",
    `not enough disk space: ${what} needs ${exactly(needed)}, ${folder} has ${exactly(free)} free`,
    { next: "Free some space." },
  );
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

function exactly(bytes: number): string {
  return `${bytes.toLocaleString("en-US")} bytes (${formatBytes(bytes)})`;
}
