import { SluiceError } from "../errors.ts";

/** Fills `target` with the file's bytes at `offset`. */
export type ReadAt = (offset: number, target: Uint8Array) => void;

/** Large enough that a vocabulary of megabytes takes few system calls, small enough to be forgotten. */
const PIECE_BYTES = 256 * 1024;

/**
 * Reads little-endian values one after the other between two positions of a file, through a buffer of 256 KiB.
 * No length is believed: whatever would pass `end` is a `bad-model` error, before anything is allocated.
 */
export class Cursor {
  /** Position in the file of the next value. */
  position: number;
  readonly end: number;
  /** What is being read, for the error message. */
  what: string;
  readonly #path: string;
  readonly #read: ReadAt;
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  /** Position in the file of the buffer's first byte. */
  #start = 0;
  /** Whether views into the buffer were given out, so that it must not be filled again. */
  #lent = false;
  /** Index in the buffer of what was taken last. */
  #at = 0;

  constructor(path: string, read: ReadAt, start: number, end: number, what: string) {
    this.#path = path;
    this.#read = read;
    this.position = start;
    this.end = end;
    this.what = what;
  }

  get remaining(): number {
    return this.end - this.position;
  }

  u8(): number {
    return this.#take(1).getUint8(this.#at);
  }
  i8(): number {
    return this.#take(1).getInt8(this.#at);
  }
  u16(): number {
    return this.#take(2).getUint16(this.#at, true);
  }
  i16(): number {
    return this.#take(2).getInt16(this.#at, true);
  }
  u32(): number {
    return this.#take(4).getUint32(this.#at, true);
  }
  i32(): number {
    return this.#take(4).getInt32(this.#at, true);
  }
  f32(): number {
    return this.#take(4).getFloat32(this.#at, true);
  }
  f64(): number {
    return this.#take(8).getFloat64(this.#at, true);
  }
  u64(): bigint {
    return this.#take(8).getBigUint64(this.#at, true);
  }
  i64(): bigint {
    return this.#take(8).getBigInt64(this.#at, true);
  }

  /**
   * A uint64 as a double: exact below 2^53, and above it rounded to something that is still 2^53 or more,
   * so that a comparison with the size of a file gives the right answer either way.
   */
  size(): number {
    const view = this.#take(8);
    return view.getUint32(this.#at, true) + view.getUint32(this.#at + 4, true) * 0x1_0000_0000;
  }

  /** A uint64 that counts things of at least `bytesEach` bytes which follow: refused where they cannot fit. */
  count(bytesEach: number): number {
    const count = this.size();
    if (count * bytesEach > this.remaining) throw this.#tooShort(count * bytesEach);
    return count;
  }

  /** Bytes that a uint64 length precedes; at most `limit` of them. They stay valid. */
  string(limit: number): Uint8Array {
    const length = this.count(1);
    if (length > limit) throw this.fail(`is ${length} bytes long, more than the ${limit} that are sane`);
    const bytes = new Uint8Array(length);
    if (length <= PIECE_BYTES) {
      this.#take(length);
      bytes.set(this.#bytes.subarray(this.#at, this.#at + length));
    } else {
      this.#read(this.position, bytes);
      this.position += length;
    }
    return bytes;
  }

  /** As `string`, without a copy where the buffer holds it all: a view into memory that is never overwritten. */
  stringView(limit: number): Uint8Array {
    const length = this.size();
    if (length > PIECE_BYTES) {
      this.position -= 8;
      return this.string(limit);
    }
    this.#take(length);
    this.#lent = true;
    return this.#bytes.subarray(this.#at, this.#at + length);
  }

  /** Step over `count` strings. */
  skipStrings(count: number): void {
    let left = count;
    while (left > 0) {
      left -= this.#skipBuffered(left);
      // The next length is not in the buffer, or is not short.
      if (left-- > 0) this.skip(this.size());
    }
  }

  /**
   * Step over up to `count` strings shorter than 64 KiB whose lengths are in the buffer; gives how many. A vocabulary
   * has half a million of them: this loop, on local variables alone, is what opening a file takes.
   */
  #skipBuffered(count: number): number {
    const bytes = this.#bytes;
    const start = this.position - this.#start;
    const last = bytes.length - 8;
    let at = start;
    let skipped = 0;
    while (skipped < count && at <= last) {
      if (
        (bytes[at + 2] | bytes[at + 3] | bytes[at + 4] | bytes[at + 5] | bytes[at + 6] | bytes[at + 7]) !==
        0
      )
        break;
      at += 8 + bytes[at] + bytes[at + 1] * 256;
      skipped++;
    }
    this.skip(at - start);
    return skipped;
  }

  skip(bytes: number): void {
    if (bytes > this.remaining) throw this.#tooShort(bytes);
    this.position += bytes;
  }

  /** An error about what is being read. */
  fail(
    problem: string,
    next = "The file is damaged or was not written as GGUF; download or convert it again.",
  ): SluiceError {
    return new SluiceError("bad-model", `${this.#path}: ${this.what} ${problem}`, { next });
  }

  /** Make the next `bytes` (at most a piece) available: in the returned view from `#at` on. */
  #take(bytes: number): DataView {
    let at = this.position - this.#start;
    if (at < 0 || at + bytes > this.#bytes.length) {
      if (bytes > this.remaining) throw this.#tooShort(bytes);
      const piece = Math.min(PIECE_BYTES, this.remaining);
      if (this.#lent || this.#bytes.length !== piece) {
        this.#bytes = new Uint8Array(piece);
        this.#view = new DataView(this.#bytes.buffer);
        this.#lent = false;
      }
      this.#start = this.position;
      this.#read(this.position, this.#bytes);
      at = 0;
    }
    this.#at = at;
    this.position += bytes;
    return this.#view;
  }

  #tooShort(bytes: number): SluiceError {
    const wanted = bytes < 2 ** 53 ? `${bytes}` : `about ${bytes.toExponential(2)}`;
    return this.fail(`at byte ${this.position} needs ${wanted} more bytes, but ${this.remaining} are left`);
  }
}
