/**
 * A segment of a prompt on disk: keys and values of 128 positions, as they lie in memory.
 *
 *      0   12   "sluice keys\n"
 *     12    4   version of the format (u32; all numbers are little-endian)
 *     16   32   key: SHA-256 that tells the tokens up to its end, and the model
 *     48    4   bytes of the blocks
 *     52    4   crc32 of the blocks
 *     56    4   crc32 of the 56 bytes before
 *     60        blocks
 *
 * It appears under its name as a whole. Nothing makes it durable: what a crash of the machine leaves of it fails the checks,
 * and is removed.
 */
import { randomBytes } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { errorCode } from "../store/io-error.ts";
import { TEMPORARY } from "../store/names.ts";

const SEGMENT_FORMAT = 1;
const MAGIC = Buffer.from("sluice keys\n");
const HEADER_BYTES = 60;
/** Blocks may be in shared memory, which is copied in pieces of this size. */
const PIECE_BYTES = 1 << 20;

/** Bytes of the file for blocks of so many bytes. */
export function segmentFileBytes(blockBytes: number): number {
  return HEADER_BYTES + blockBytes;
}

/** @throws the operating system's error; nothing is left behind then */
export async function writeSegment(
  path: string,
  key: Uint8Array,
  blocks: readonly Uint8Array[],
): Promise<void> {
  const temporary = `${path}.${randomBytes(4).toString("hex")}${TEMPORARY}`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      let sum = 0;
      let offset = HEADER_BYTES;
      for (const piece of pieces(blocks)) {
        const copy = Uint8Array.from(piece);
        sum = crc32(copy, sum);
        await writeFully(file, copy, offset);
        offset += copy.length;
      }
      await writeFully(file, header(key, offset - HEADER_BYTES, sum), 0);
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

/**
 * @param targets where the blocks go; in no certain state unless the file is "sound"
 * @throws the operating system's error
 */
export async function readSegment(
  path: string,
  key: Uint8Array,
  targets: readonly Uint8Array[],
): Promise<"sound" | "damaged" | "absent"> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "absent";
    throw error;
  }
  try {
    const bytes = targets.reduce((sum, target) => sum + target.length, 0);
    const head = Buffer.alloc(HEADER_BYTES);
    if ((await file.stat()).size !== segmentFileBytes(bytes)) return "damaged";
    if (!(await readFully(file, head, 0))) return "damaged";
    const expected = head.readUInt32LE(52);
    if (!head.equals(header(key, bytes, expected))) return "damaged";
    const buffer = new Uint8Array(PIECE_BYTES);
    let sum = 0;
    let offset = HEADER_BYTES;
    for (const piece of pieces(targets)) {
      const part = buffer.subarray(0, piece.length);
      if (!(await readFully(file, part, offset))) return "damaged";
      sum = crc32(part, sum);
      piece.set(part);
      offset += part.length;
    }
    return sum === expected ? "sound" : "damaged";
  } finally {
    await file.close();
  }
}

function header(key: Uint8Array, bytes: number, sum: number): Buffer {
  const head = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(head);
  head.writeUInt32LE(SEGMENT_FORMAT, 12);
  head.set(key, 16);
  head.writeUInt32LE(bytes, 48);
  head.writeUInt32LE(sum, 52);
  head.writeUInt32LE(crc32(head.subarray(0, 56)), 56);
  return head;
}

function* pieces(blocks: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const block of blocks)
    for (let at = 0; at < block.length; at += PIECE_BYTES) yield block.subarray(at, at + PIECE_BYTES);
}

async function writeFully(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await file.write(bytes, done, bytes.length - done, offset + done)).bytesWritten;
}

async function readFully(file: FileHandle, target: Uint8Array, offset: number): Promise<boolean> {
  for (let done = 0; done < target.length; ) {
    const { bytesRead } = await file.read(target, done, target.length - done, offset + done);
    if (bytesRead === 0) return false;
    done += bytesRead;
  }
  return true;
}
