import { writeSync } from "node:fs";

const BUFFER_BYTES = 1024 * 1024;

/** Writes little-endian values one after the other to a file, through a buffer of 1 MiB. */
export class ByteSink {
  readonly #fd: number;
  readonly #bytes = new Uint8Array(BUFFER_BYTES);
  readonly #view = new DataView(this.#bytes.buffer);
  #used = 0;
  /** Bytes of the file that were written before the buffer's. */
  #flushed = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Position in the file of the next value. */
  get position(): number {
    return this.#flushed + this.#used;
  }

  u8(value: number): void {
    this.#view.setUint8(this.#room(1), value);
  }
  u16(value: number): void {
    this.#view.setUint16(this.#room(2), value, true);
  }
  u32(value: number): void {
    this.#view.setUint32(this.#room(4), value, true);
  }
  u64(value: bigint): void {
    this.#view.setBigUint64(this.#room(8), value, true);
  }
  f32(value: number): void {
    this.#view.setFloat32(this.#room(4), value, true);
  }
  f64(value: number): void {
    this.#view.setFloat64(this.#room(8), value, true);
  }

  bytes(source: Uint8Array): void {
    if (source.length >= BUFFER_BYTES) {
      this.flush();
      this.#flushed += writeFully(this.#fd, source, this.#flushed);
      return;
    }
    this.#bytes.set(source, this.#room(source.length));
  }

  /** Zeros up to a multiple of `alignment`. */
  pad(alignment: number): void {
    const end = Math.ceil(this.position / alignment) * alignment;
    while (this.position < end) this.u8(0);
  }

  /** Write over 8 bytes that were written before. */
  patchU64(position: number, value: bigint): void {
    this.flush();
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, value, true);
    writeFully(this.#fd, bytes, position);
  }

  flush(): void {
    this.#flushed += writeFully(this.#fd, this.#bytes.subarray(0, this.#used), this.#flushed);
    this.#used = 0;
  }

  #room(bytes: number): number {
    if (this.#used + bytes > BUFFER_BYTES) this.flush();
    this.#used += bytes;
    return this.#used - bytes;
  }
}

function writeFully(fd: number, source: Uint8Array, position: number): number {
  let done = 0;
  while (done < source.length) done += writeSync(fd, source, done, source.length - done, position + done);
  return done;
}
