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

const MOST_ENTRIES = 1000;
/** A longer file is cut to the newest half of this; a longer entry is not kept. */
const MOST_BYTES = 1_000_000;
const MOST_ENTRY_BYTES = 64_000;
const LOCK_WAIT_MS = 200;
/** A lock this old was left behind. */
const LOCK_STALE_MS = 10_000;

/** The newest entries. None where there is no such file, or it cannot be read; lines that are damaged are left out. */
export function readHistory(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n").flatMap(parseEntry).slice(-MOST_ENTRIES);
  } catch {
    return [];
  }
}

/**
 * Add an entry. The file and its folder are made, for the user alone to read.
 *
 * @throws the operating system's error
 */
export function appendHistory(path: string, text: string): void {
  const line = `${JSON.stringify(text)}\n`;
  if (Buffer.byteLength(line) > MOST_ENTRY_BYTES) return;
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
    bytes += Buffer.byteLength(line) + 1;
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
    } catch {
      const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > LOCK_STALE_MS) rmSync(path, { force: true });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  } while (performance.now() < end);
  return undefined;
}
