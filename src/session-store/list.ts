/** Looking after saved conversations: what there is, and taking it away. */
import { readdirSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import { errorCode, ioError } from "../store/io-error.ts";
import { removeAbandoned } from "./abandoned.ts";
import type { Head } from "./head.ts";
import { ENDING, isAutomatic, nameOfFile } from "./names.ts";
import { SavedSession } from "./saved-session.ts";
import { SessionWriter } from "./session-writer.ts";

export interface SessionEntry {
  readonly name: string;
  readonly path: string;
  /** Whether sluice gave it its name: such ones are not kept for ever. */
  readonly automatic: boolean;
  readonly bytes: number;
  /** When it was saved last. */
  readonly changed: Date;
  readonly head?: Head;
  /** Why it cannot be read. */
  readonly problem?: string;
}

/** Automatic ones that are kept. */
const MOST_AUTOMATIC = 50;
/** Bytes of automatic ones beyond which the oldest keep only their text. */
const MOST_BYTES = 2e9;
/** A file of text alone is not worth shortening. */
const WORTH_BYTES = 4 << 20;

export function sessionPath(folder: string, name: string): string {
  return join(folder, name + ENDING);
}

/**
 * All conversations in a folder, the last changed first; none where there is no such folder. What processes that died
 * while they saved left behind is cleared away.
 *
 * @throws SluiceError `io` where the folder cannot be read
 */
export async function listSessions(folder: string): Promise<SessionEntry[]> {
  const files = await readNames(folder);
  await removeAbandoned(folder, files);
  const names = files.map(nameOfFile).filter((name) => name !== undefined);
  const entries: SessionEntry[] = [];
  // One after the other: there may be more than a process may open.
  for (const name of names) {
    const entry = await describe(folder, name);
    if (entry) entries.push(entry);
  }
  return entries.sort((a, b) => b.changed.getTime() - a.changed.getTime() || (a.name < b.name ? 1 : -1));
}

/**
 * The conversation of this name, or the only one whose name begins so.
 *
 * @param next what to do where there is none
 * @throws SluiceError `bad-input` where there is none, or several
 */
export async function findSession(
  folder: string,
  name: string,
  next = "`sluice sessions ls` lists what there is.",
): Promise<SessionEntry> {
  const entries = await listSessions(folder);
  const wanted = name.normalize("NFC");
  const exact = entries.find((entry) => entry.name.normalize("NFC") === wanted);
  if (exact) return exact;
  const found =
    wanted === "" ? [] : entries.filter((entry) => entry.name.normalize("NFC").startsWith(wanted));
  if (found.length === 1) return found[0];
  const problem =
    found.length === 0
      ? `no conversation is called ${name} in ${folder}`
      : `${name} could be ${found.map((entry) => entry.name).join(" or ")}`;
  throw new SluiceError("bad-input", problem, { next });
}

/** @throws SluiceError `io` */
export async function removeSession({ path }: Pick<SessionEntry, "path">): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    throw ioError(error, "delete", path, "Check the permissions of its folder.");
  }
}

/**
 * Keep automatic conversations within bounds: beyond 2 GB the oldest lose their KV cache, beyond 50 they go.
 *
 * @param except name of one that is not to be touched
 * @returns what was done, by name
 * @throws SluiceError `io`, `no-space`
 */
export async function pruneSessions(
  folder: string,
  except: string,
  { most = MOST_AUTOMATIC, mostBytes = MOST_BYTES, worth = WORTH_BYTES } = {},
): Promise<{ readonly removed: string[]; readonly shortened: string[] }> {
  const entries = (await listSessions(folder)).filter((entry) => entry.automatic);
  const removed: string[] = [];
  const shortened: string[] = [];
  let bytes = 0;
  for (const [age, entry] of entries.entries()) {
    bytes += entry.bytes;
    if (entry.name === except) continue;
    if (age >= most) {
      await removeSession(entry);
      removed.push(entry.name);
    } else if (bytes > mostBytes && entry.bytes > worth && entry.head) {
      bytes -= entry.bytes;
      await keepText(entry.path);
      shortened.push(entry.name);
    }
  }
  return { removed, shortened };
}

async function keepText(path: string): Promise<void> {
  const saved = await SavedSession.open(path);
  const writer = new SessionWriter(path);
  try {
    writer.adopt(saved, []);
  } finally {
    await saved.close();
  }
  const { sluice: _, blocks: __, ...content } = saved.head;
  await writer.save(content, []);
}

async function describe(folder: string, name: string): Promise<SessionEntry | undefined> {
  const path = sessionPath(folder, name);
  // It may have been deleted since.
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) return undefined;
  const entry = { name, path, automatic: isAutomatic(name), bytes: found.size, changed: found.mtime };
  try {
    const saved = await SavedSession.open(path);
    await saved.close();
    return { ...entry, changed: new Date(saved.head.changed), head: saved.head };
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    return { ...entry, problem: error.message };
  }
}

/** Names of the conversations in a folder, in order of letters; none where it cannot be read. */
export function sessionNames(folder: string): string[] {
  try {
    return readdirSync(folder)
      .map(nameOfFile)
      .filter((name) => name !== undefined)
      .sort();
  } catch {
    return [];
  }
}

async function readNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw ioError(error, "read", folder, "Check the permissions of the folder.");
  }
}
