import { type FileHandle, open } from "node:fs/promises";
import { SluiceError } from "../errors.ts";
import { errorCode, ioError } from "../store/io-error.ts";
import { decodeHead, type Head } from "./head.ts";
import { formatOf, type LogRecord, readPayload, recordBytes, SESSION_FORMAT, scanRecords } from "./log.ts";
import { readBlock } from "./pieces.ts";

/** Where a file stands: whoever finds it otherwise knows that another process has written. */
export interface FileState {
  readonly inode: bigint;
  readonly bytes: number;
}

/** A saved conversation, open for reading. */
export class SavedSession {
  readonly path: string;
  readonly head: Head;
  readonly state: FileState;
  /** Whether it consists of whole records: another save can be added then. */
  readonly whole: boolean;
  /**
   * "older": the last save is damaged, this is the one before it. "damaged": the text could be read, but its checksum is
   * wrong, and nothing is to be trusted.
   */
  readonly condition: "sound" | "older" | "damaged";
  /** Whether the first bytes, which tell what the file is, are as they must be. */
  readonly begins: boolean;
  readonly #file: FileHandle;
  /** Bytes of the records by their offsets. */
  readonly #sizes: ReadonlyMap<number, number>;

  private constructor(path: string, file: FileHandle, found: Found) {
    this.path = path;
    this.#file = file;
    this.#sizes = new Map(found.records.map((record) => [record.offset, recordBytes(record)]));
    this.head = found.head;
    this.state = found.state;
    this.whole = found.whole;
    this.condition = found.condition;
    this.begins = found.begins;
  }

  /**
   * Open a file as of its last whole save. Its KV cache is not looked at.
   *
   * @throws SluiceError `bad-session` for a file that is none, of another format, or in which no text can be read;
   *   `bad-input` where there is none; `io`
   */
  static async open(path: string): Promise<SavedSession> {
    let file: FileHandle;
    try {
      file = await open(path, "r");
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw readError(error, path);
      throw new SluiceError("bad-input", `there is no session ${path}`, {
        next: "`sluice sessions ls` lists them.",
      });
    }
    try {
      return new SavedSession(path, file, await findLastSave(path, file));
    } catch (error) {
      await file.close();
      throw readError(error, path);
    }
  }

  /** Whether a KV cache was saved. */
  get hasKv(): boolean {
    return this.condition !== "damaged" && this.head.blocks.length > 0;
  }

  /** Bytes of the file that a block takes. */
  blockSize(index: number): number {
    return this.head.blocks[index].reduce((sum, offset) => sum + (this.#sizes.get(offset) ?? 0), 0);
  }

  /**
   * Read a block of its KV cache.
   *
   * @param target as long as a block, may be in shared memory
   * @throws SluiceError `bad-session` where it is damaged
   */
  async readBlock(target: Uint8Array, index: number): Promise<void> {
    let read: boolean;
    try {
      read = await readBlock(this.#file, this.head.blocks[index] ?? [], target);
    } catch (error) {
      throw readError(error, this.path);
    }
    if (!read) throw damaged(this.path, `block ${index} of its KV cache cannot be read`);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

interface Found extends Pick<SavedSession, "head" | "state" | "whole" | "condition" | "begins"> {
  readonly records: readonly LogRecord[];
}

async function findLastSave(path: string, file: FileHandle): Promise<Found> {
  const format = await formatOf(file);
  const begins = format === SESSION_FORMAT;
  const { records, whole } = await scanRecords(file);
  const stats = await file.stat({ bigint: true });
  const state = { inode: stats.ino, bytes: Number(stats.size) };
  const heads = records.filter(({ kind }) => kind === "HEAD").reverse();
  // What begins as no session is one where it has a save that is sound.
  for (const trusted of begins ? [true, false] : [true]) {
    for (const [age, record] of heads.entries()) {
      const head = await readHead(file, record, trusted);
      const condition = trusted ? (age === 0 ? "sound" : "older") : "damaged";
      if (head) return { head, state, whole: whole && begins, condition, begins, records };
    }
  }
  if (format === undefined) throw damaged(path, "it does not begin as a session does");
  if (!begins)
    throw new SluiceError(
      "bad-session",
      `${path} is of session format ${format}, this sluice reads ${SESSION_FORMAT}`,
      { next: "Use the version of sluice that wrote it, or delete it with `sluice sessions rm`." },
    );
  throw damaged(path, heads.length === 0 ? "it has no text" : "its text cannot be read");
}

async function readHead(file: FileHandle, record: LogRecord, trusted: boolean): Promise<Head | undefined> {
  const read = await readPayload(file, record);
  if (read === undefined || (trusted && !read.sound)) return undefined;
  return decodeHead(read.payload);
}

function damaged(path: string, problem: string): SluiceError {
  return new SluiceError("bad-session", `${path} is damaged: ${problem}`, {
    next: "`sluice sessions rm` deletes it.",
  });
}

function readError(error: unknown, path: string): SluiceError {
  return ioError(error, "read", path, "Check the permissions of the file and of its folder.");
}
