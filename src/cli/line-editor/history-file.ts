/**
 * The history of what was typed, in a file: one JSON string in a line, the newest last. Any number of chats may use it
 * at once: each adds whole lines at its end, and whoever finds it too long shortens it while the others wait.
 */
import {
  closeSync,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { SluiceError } from "../../errors.ts";
import { errorCode, ioError } from "../../store/io-error.ts";

const MOST_ENTRIES = 1000;
/** A longer file is cut to the newest half of this; a longer entry is not kept. */
const MOST_BYTES = 1_000_000;
const MOST_ENTRY_BYTES = 64_000;
const LOCK_WAIT_MS = 200;
const ADVICE = "The chat goes on without it.";
/** A lock this old was left behind. */
const LOCK_STALE_MS = 10_000;

/**
 * The newest entries; none where there is no such file. Lines that are damaged are left out.
 *
 * @throws SluiceError `io` where it cannot be read, or is no regular file
 */
export function readHistory(path: string): string[] {
  try {
    if (!isThere(path)) return [];
    return readFileSync(path, "utf8").split("\n").flatMap(parseEntry).slice(-MOST_ENTRIES);
  } catch (error) {
    throw ioError(error, "read", path, ADVICE);
  }
}

/** Whether there is a file. Opening a pipe or a device in its place could take for ever. */
function isThere(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found && !found.isFile()) throw new SluiceError("io", `${path} is no regular file`, { next: ADVICE });
  return found !== undefined;
}

/**
 * Add an entry. The file and its folder are made, for the user alone to read.
 *
 * @throws SluiceError `io`, `no-space`
 */
export function appendHistory(path: string, text: string): void {
  const line = `${JSON.stringify(text)}\n`;
  if (Buffer.byteLength(line) > MOST_ENTRY_BYTES) return;
  try {
    addLine(path, line);
  } catch (error) {
    throw ioError(error, "write", path, ADVICE);
  }
}

function addLine(path: string, line: string): void {
  isThere(path);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const release = lock(`${path}.lock`);
  try {
    const fd = openSync(path, "a", 0o600);
    try {
      if (fstatSync(fd).mode & 0o077) fchmodSync(fd, 0o600);
      writeSync(fd, line);
      if (release && fstatSync(fd).size > MOST_BYTES) shorten(path);
    } finally {
      closeSync(fd);
    }
  } finally {
    release?.();
  }
}

function parseEntry(line: string): string[] {
  if (line.length > MOST_ENTRY_BYTES) return [];
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === "string" ? [entry] : [];
  } catch {
    return [];
  }
}

function shorten(path: string): void {
  const lines = readFileSync(path, "utf8").split("\n");
  let bytes = 0;
  const kept = lines.reverse().filter((line) => {
    const size = Buffer.byteLength(line) + 1;
    // Not one of ours.
    if (size > MOST_ENTRY_BYTES) return false;
    bytes += size;
    return bytes <= MOST_BYTES / 2;
  });
  const fresh = `${path}.${process.pid}`;
  writeFileSync(fresh, kept.reverse().join("\n"), { mode: 0o600 });
  renameSync(fresh, path);
}

/** Hold a lock for a moment. Undefined where nobody lets go of it: adding a line does without. */
function lock(path: string): (() => void) | undefined {
  const end = performance.now() + LOCK_WAIT_MS;
  do {
    try {
      closeSync(openSync(path, "wx", 0o600));
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (errorCode(error) !== "EEXIST") return undefined;
      const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > LOCK_STALE_MS) rmSync(path, { force: true });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  } while (performance.now() < end);
  return undefined;
}
