/**
 * The file of a conversation is a log: records are only ever added, so that a process that dies while it saves leaves
 * what was there before.
 *
 *     0   12   "sluice chat\n"
 *     12   4   version of the format (u32; all numbers are little-endian)
 *     16       records, one after the other:
 *               0  4  kind: "HEAD" or "KEYS"
 *               4  4  bytes of the payload
 *               8  4  crc32 of the payload
 *              12  4  crc32 of the twelve bytes before
 *              16     payload
 *
 * The last whole HEAD is the conversation (see head.ts); it names the KEYS records (see pieces.ts) that belong to it.
 */
import type { FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";

export const SESSION_FORMAT = 1;
const MAGIC = Buffer.from("sluice chat\n");
export const PREAMBLE_BYTES = 16;
const HEADER_BYTES = 16;
const KINDS = ["HEAD", "KEYS"] as const;
const KIND_BYTES = 4;
const SEARCH_BYTES = 1 << 20;
/** No record is larger: pieces have a mebibyte, and a head of this size would be the text of a library. */
const LARGEST_RECORD = 256 << 20;

export type RecordKind = (typeof KINDS)[number];

export interface LogRecord {
  readonly kind: RecordKind;
  readonly offset: number;
  readonly bytes: number;
  readonly crc32: number;
}

/** Bytes that a record takes in the file. */
export function recordBytes({ bytes }: Pick<LogRecord, "bytes">): number {
  return HEADER_BYTES + bytes;
}

export function preamble(): Uint8Array {
  const bytes = Buffer.alloc(PREAMBLE_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUInt32LE(SESSION_FORMAT, MAGIC.length);
  return bytes;
}

/** Version of the format of a file, or undefined where it is no conversation of sluice. */
export async function formatOf(file: FileHandle): Promise<number | undefined> {
  const bytes = Buffer.alloc(PREAMBLE_BYTES);
  if (!(await readFully(file, bytes, 0))) return undefined;
  return bytes.subarray(0, MAGIC.length).equals(MAGIC) ? bytes.readUInt32LE(MAGIC.length) : undefined;
}

/**
 * All records of a file; payloads are not looked at. Where one is damaged or cut short, the search goes on behind it.
 *
 * @returns the records, and whether the file consists of nothing else
 */
export async function scanRecords(
  file: FileHandle,
): Promise<{ readonly records: LogRecord[]; readonly whole: boolean }> {
  const { size } = await file.stat();
  const records: LogRecord[] = [];
  let whole = true;
  for (let offset = PREAMBLE_BYTES; offset < size; ) {
    const record = await recordAt(file, offset);
    if (record && offset + recordBytes(record) <= size) {
      records.push(record);
      offset += recordBytes(record);
    } else {
      whole = false;
      offset = await findKind(file, offset + 1);
    }
  }
  return { records, whole };
}

/** Where the name of a kind stands next, from an offset on; behind the end of the file where it does not. */
async function findKind(file: FileHandle, from: number): Promise<number> {
  const buffer = Buffer.alloc(SEARCH_BYTES);
  for (let offset = from; ; offset += SEARCH_BYTES - KIND_BYTES) {
    const { bytesRead } = await file.read(buffer, 0, SEARCH_BYTES, offset);
    const found = KINDS.map((kind) => buffer.subarray(0, bytesRead).indexOf(kind)).filter((at) => at >= 0);
    if (found.length > 0) return offset + Math.min(...found);
    if (bytesRead < SEARCH_BYTES) return Number.POSITIVE_INFINITY;
  }
}

/** The record that begins at an offset, or undefined where none does. */
export async function recordAt(file: FileHandle, offset: number): Promise<LogRecord | undefined> {
  const header = Buffer.alloc(HEADER_BYTES);
  if (!(await readFully(file, header, offset))) return undefined;
  const kind = KINDS.find((kind) => header.toString("latin1", 0, 4) === kind);
  const bytes = header.readUInt32LE(4);
  if (
    kind === undefined ||
    bytes > LARGEST_RECORD ||
    crc32(header.subarray(0, 12)) !== header.readUInt32LE(12)
  )
    return undefined;
  return { kind, offset, bytes, crc32: header.readUInt32LE(8) };
}

/** The payload of a record, and whether its checksum is right; undefined where the file ends before. */
export async function readPayload(
  file: FileHandle,
  record: LogRecord,
): Promise<{ readonly payload: Uint8Array; readonly sound: boolean } | undefined> {
  const payload = new Uint8Array(record.bytes);
  if (!(await readFully(file, payload, record.offset + HEADER_BYTES))) return undefined;
  return { payload, sound: crc32(payload) === record.crc32 };
}

/** Adds records to a file, from an offset on. */
export class LogWriter {
  readonly #file: FileHandle;
  #end: number;

  constructor(file: FileHandle, end: number) {
    this.#file = file;
    this.#end = end;
  }

  /** Where the next record begins. */
  get end(): number {
    return this.#end;
  }

  /** @returns the record's offset @throws the operating system's error */
  async add(kind: RecordKind, payload: Uint8Array): Promise<number> {
    const header = Buffer.alloc(HEADER_BYTES);
    header.write(kind, "latin1");
    header.writeUInt32LE(payload.byteLength, 4);
    header.writeUInt32LE(crc32(payload), 8);
    header.writeUInt32LE(crc32(header.subarray(0, 12)), 12);
    const offset = this.#end;
    await writeFully(this.#file, Buffer.concat([header, payload]), offset);
    this.#end += recordBytes({ bytes: payload.byteLength });
    return offset;
  }
}

export async function writeFully(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.byteLength - done, position + done);
    done += bytesWritten;
  }
}

async function readFully(file: FileHandle, bytes: Uint8Array, position: number): Promise<boolean> {
  for (let done = 0; done < bytes.byteLength; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.byteLength - done, position + done);
    if (bytesRead === 0) return false;
    done += bytesRead;
  }
  return true;
}
