import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { ALIGNMENT } from "../store/layout.ts";

/** Chunks on their way to the disk at a time; one of them is being made. */
const BUFFERS = 4;
/** Written bytes after which the disk is made to start on them, so that the end of a file has little to wait for. */
const FLUSH_BYTES = 32 << 20;

/**
 * Writes a file from start to end while its next bytes are made: past the page cache where the platform can, which
 * takes a fraction of the processor time and leaves the memory of others alone.
 *
 * `take` a buffer, fill it, `append` it. An error of a write is thrown by one of the next calls.
 */
export class BackgroundWriter {
  readonly #handle: FileHandle;
  readonly #direct: boolean;
  readonly #free: Uint8Array[];
  readonly #writing: Promise<void>[] = [];
  #position = 0;
  #flushedTo = 0;
  #flushing: Promise<void> = Promise.resolve();

  private constructor(handle: FileHandle, direct: boolean, buffers: Uint8Array[]) {
    this.#handle = handle;
    this.#direct = direct;
    this.#free = buffers;
  }

  /**
   * @param bytes of the longest append, a multiple of `ALIGNMENT`
   * @throws the operating system's error, as all methods do
   */
  static async create(path: string, bytes: number): Promise<BackgroundWriter> {
    const memory = new Uint8Array(BUFFERS * bytes + ALIGNMENT);
    const { handle, start } = (await openDirect(path, memory)) ?? {
      handle: await open(path, "w"),
      start: undefined,
    };
    const first = start ?? 0;
    const buffers = Array.from({ length: BUFFERS }, (_, i) =>
      memory.subarray(first + i * bytes, first + (i + 1) * bytes),
    );
    return new BackgroundWriter(handle, start !== undefined, buffers);
  }

  /** A buffer to fill. */
  async take(): Promise<Uint8Array> {
    if (this.#writing.length === BUFFERS) await this.#writing.shift();
    return this.#free.pop()!;
  }

  /** Write the first bytes of the buffer that was taken last, a multiple of `ALIGNMENT`, behind all before it. */
  append(buffer: Uint8Array, bytes: number): void {
    this.#writing.push(heldBack(this.#write(buffer, bytes, this.#position)));
    this.#position += bytes;
    if (this.#direct || this.#position - this.#flushedTo < FLUSH_BYTES) return;
    this.#flushedTo = this.#position;
    this.#flushing = heldBack(this.#flushing.then(() => this.#handle.datasync()));
  }

  /** Make everything durable. */
  async finish(): Promise<void> {
    for (const write of this.#writing) await write;
    await this.#flushing;
    await this.#handle.sync();
  }

  /** Let go of the file, finished or not. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#writing, this.#flushing]);
    await this.#handle.close();
  }

  async #write(buffer: Uint8Array, bytes: number, position: number): Promise<void> {
    for (let done = 0; done < bytes; ) {
      const { bytesWritten } = await this.#handle.write(buffer, done, bytes - done, position + done);
      done += bytesWritten;
    }
    this.#free.push(buffer);
  }
}

/**
 * Create a file for writes past the page cache, and find where `memory` is aligned for them: see stream/ring.ts.
 * Undefined where platform or file system have none.
 */
async function openDirect(
  path: string,
  memory: Uint8Array,
): Promise<{ handle: FileHandle; start: number } | undefined> {
  // Absent on macOS and Windows, whatever the types say.
  const flag = constants.O_DIRECT as number | undefined;
  if (flag === undefined) return undefined;
  const { O_WRONLY, O_CREAT, O_TRUNC } = constants;
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, O_WRONLY | O_CREAT | O_TRUNC | flag, 0o666);
    const start = await findAlignedStart(handle, memory);
    if (start !== undefined) return { handle, start };
  } catch (error) {
    if (!isRefusal(error)) {
      await handle?.close();
      throw error;
    }
  }
  await handle?.close();
  return undefined;
}

/** The system refuses unaligned writes, so trying tells. What is written is overwritten by the first append. */
async function findAlignedStart(handle: FileHandle, memory: Uint8Array): Promise<number | undefined> {
  for (let back = 16; back <= ALIGNMENT; back += 16) {
    const offset = ALIGNMENT - back;
    try {
      await handle.write(memory, offset, ALIGNMENT, 0);
      return offset;
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
  }
  return undefined;
}

function isRefusal(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EINVAL";
}

/** A promise whose error may be looked at later, or never. */
function heldBack(promise: Promise<void>): Promise<void> {
  promise.catch(() => {});
  return promise;
}
