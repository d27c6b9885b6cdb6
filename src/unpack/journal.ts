/**
 * The journal of an unfinished unpack: what it is made from, and which files are done. It is replaced atomically
 * after every file and removed when the manifest is there, so that a process may be killed at any moment.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { throwIfAborted } from "../errors.ts";
import { writeFileAtomic } from "../store/atomic.ts";
import { decodeMessage, encodeMessage } from "../store/manifest.ts";
import { checkFile } from "../store/manifest-check.ts";
import { isOwnFile, JOURNAL } from "../store/names.ts";
import type { Compression, Dtype } from "../store/types.ts";
import { badChunks } from "../store/verify.ts";
import type { PlannedFile } from "./planned-file.ts";
import type { WrittenFile } from "./write-weights.ts";

/** What must be the same for files of an earlier run to be of use. */
export interface Origin {
  readonly format: number;
  readonly fingerprint: string;
  readonly bytes: number;
  /** Time of the model file's last change in ms: its weights are not part of the fingerprint. */
  readonly modified: number;
  readonly dtype: Dtype;
  readonly compression: Compression;
}

interface Journal {
  readonly origin: Origin;
  readonly files: readonly WrittenFile[];
}

/** @throws the operating system's error */
export function writeJournal(folder: string, origin: Origin, files: readonly WrittenFile[]): void {
  writeFileAtomic(join(folder, JOURNAL), encodeMessage({ origin, files } satisfies Journal));
}

export function hasJournal(folder: string): boolean {
  return existsSync(join(folder, JOURNAL));
}

export function removeJournal(folder: string): void {
  rmSync(join(folder, JOURNAL), { force: true });
}

/**
 * The files of an earlier run that can be kept: named in its journal, of the same origin and plan, and every byte
 * as it was written. All other files of sluice are deleted.
 *
 * @param onKept called after each
 */
export async function keepFinished(
  folder: string,
  origin: Origin,
  planned: readonly PlannedFile[],
  signal: AbortSignal | undefined,
  onKept: (file: PlannedFile) => void,
): Promise<Map<string, WrittenFile>> {
  const kept = new Map<string, WrittenFile>();
  const noted = readJournal(folder, origin);
  for (const plan of planned) {
    const written = noted.find((entry) => entry?.file?.name === plan.name);
    if (!written || !(await isSound(folder, written, plan, signal))) continue;
    kept.set(plan.name, written);
    onKept(plan);
  }
  for (const name of readdirSync(folder))
    if (isOwnFile(name) && name !== JOURNAL && !kept.has(name)) rmSync(join(folder, name), { force: true });
  return kept;
}

function readJournal(folder: string, origin: Origin): readonly WrittenFile[] {
  try {
    const journal = decodeMessage(readFileSync(join(folder, JOURNAL))) as Journal;
    const same = Object.entries(origin).every(
      ([key, value]) => journal.origin[key as keyof Origin] === value,
    );
    return same && Array.isArray(journal.files) ? journal.files : [];
  } catch {
    // None, or none that can be read: everything is done again.
    return [];
  }
}

async function isSound(
  folder: string,
  { file }: WrittenFile,
  plan: PlannedFile,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (checkFile(file, plan.name) !== undefined) return false;
  if (JSON.stringify(file.tensors) !== JSON.stringify(plan.tensors)) return false;
  const size = statSync(join(folder, file.name), { throwIfNoEntry: false })?.size;
  return size === file.bytes && (await badChunks(folder, file, () => throwIfAborted(signal))).length === 0;
}
