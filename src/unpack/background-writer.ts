import { type FileHandle, open } from "node:fs/promises";

/** Written bytes after which the disk is made to start on them, so that the end of a file has little to wait for. */
const FLUSH_BYTES = 32 << 20;

/**
 * Appends to a file while the next bytes are made. One write and one flush are under way at most; an error of
 * either is thrown by the next call.
 */
export class BackgroundWriter {
  readonly #handle: FileHandle;
  #position = 0;
  #flushedTo = 0;
  #writing: Promise<void> = Promise.resolve();
  #flushing: Promise<void> = Promise.resolve();

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** @throws the operating system's error, as all methods do */
  static async create(path: string): Promise<BackgroundWriter> {
    return new BackgroundWriter(await open(path, "w"));
  }

  /** Append; the bytes must stay as they are until the next call returns. */
  async append(bytes: Uint8Array): Promise<void> {
    await this.#writing;
    if (this.#position - this.#flushedTo >= FLUSH_BYTES) {
      await this.#flushing;
      this.#flushedTo = this.#position;
      this.#flushing = heldBack(this.#handle.datasync());
    }
    this.#writing = heldBack(this.#write(bytes));
  }

  /** Make everything durable. */
  async finish(): Promise<void> {
    await this.#writing;
    await this.#flushing;
    await this.#handle.sync();
  }

  /** Let go of the file, finished or not. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#writing, this.#flushing]);
    await this.#handle.close();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.#handle.write(bytes, done, bytes.length - done, this.#position);
      done += bytesWritten;
      this.#position += bytesWritten;
    }
  }
}

/** A promise whose error may be looked at later, or never. */
function heldBack(promise: Promise<void>): Promise<void> {
  promise.catch(() => {});
  return promise;
}
