import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { SluiceError } from "../errors.ts";
import { ByteSink } from "./byte-sink.ts";
import { tensorType, tensorTypeId } from "./tensor-types.ts";
import { type MetadataArray, type MetadataValue, type ScalarType, VALUE_TYPES } from "./types.ts";

type Item = string | Uint8Array | number | bigint | boolean;

/** An array to write; its items are taken one at a time, so they may come from a generator. */
export interface ArrayInput {
  readonly type: "array";
  readonly items: ScalarType;
  readonly values: Iterable<Item>;
}

/** An array as another file has it. */
export interface ArrayCopy {
  readonly type: "array";
  readonly items: ScalarType;
  readonly length: number;
  readonly bytes: Iterable<Uint8Array>;
}

export type MetadataInput = Exclude<MetadataValue, MetadataArray> | ArrayInput | ArrayCopy;

/** A tensor to write: its type by ggml's name, its shape in ggml's order [columns, rows, …]. */
export interface TensorInput {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly number[];
}

export interface GgufContents {
  /** In the order of the file. `general.alignment` is obeyed where it is given. */
  readonly metadata: Iterable<readonly [key: string, value: MetadataInput]>;
  readonly tensors: readonly TensorInput[];
}

/**
 * Writes a GGUF file of version 3 from front to back in bounded memory: the header at once, then the tensors' bytes in
 * the order of `tensors`, in pieces of any size. The file appears under its name when it is complete.
 *
 * @example
 * const writer = new GgufWriter("tiny.gguf", { metadata, tensors: [{ name: "a", type: "f32", shape: [32] }] });
 * writer.write(new Uint8Array(128));
 * writer.close();
 */
export class GgufWriter {
  readonly #path: string;
  readonly #partial: string;
  #open = true;
  readonly #fd: number;
  readonly #sink: ByteSink;
  readonly #tensors: readonly (TensorInput & { readonly bytes: number })[];
  #alignment = 32;
  /** Tensor being written, and how many bytes of it are there. */
  #current = 0;
  #written = 0;

  constructor(path: string, contents: GgufContents) {
    this.#path = path;
    // A name that nobody else has: not the source, and not another writer of the same file.
    this.#partial = `${path}.${randomBytes(4).toString("hex")}.partial`;
    this.#tensors = contents.tensors.map((tensor) => ({ ...tensor, bytes: tensorBytes(tensor) }));
    this.#fd = openSync(this.#partial, "wx");
    this.#sink = new ByteSink(this.#fd);
    try {
      this.#writeHeader(contents.metadata);
    } catch (error) {
      this.abort();
      throw error;
    }
  }

  /** Append bytes of the current tensor; the next begins where it is full. */
  write(bytes: Uint8Array): void {
    this.#passEmpty();
    const tensor = this.#tensors[this.#current];
    const room = tensor === undefined ? 0 : tensor.bytes - this.#written;
    if (bytes.length > room) {
      const where =
        tensor === undefined ? "after the last tensor" : `for ${tensor.name}, which lacks ${room}`;
      throw new SluiceError("bad-input", `${bytes.length} bytes given ${where}`);
    }
    this.#sink.bytes(bytes);
    this.#written += bytes.length;
    if (this.#written === tensor.bytes) this.#next();
  }

  /** Finish the file and put it in its place. Error `bad-input` when tensors are incomplete; then nothing is left. */
  close(): void {
    this.#passEmpty();
    const missing = this.#tensors[this.#current];
    if (missing) {
      this.abort();
      throw new SluiceError(
        "bad-input",
        `${missing.name} lacks ${missing.bytes - this.#written} of ${missing.bytes} bytes`,
      );
    }
    this.#sink.flush();
    fsyncSync(this.#fd);
    this.#closeFile();
    try {
      renameSync(this.#partial, this.#path);
    } catch (error) {
      this.abort();
      throw error;
    }
  }

  /** Give up: nothing is left on disk. After `close` it does nothing. */
  abort(): void {
    this.#closeFile();
    rmSync(this.#partial, { force: true });
  }

  #closeFile(): void {
    if (this.#open) closeSync(this.#fd);
    this.#open = false;
  }

  #passEmpty(): void {
    while (this.#tensors[this.#current]?.bytes === 0) this.#next();
  }

  #next(): void {
    this.#sink.pad(this.#alignment);
    this.#current++;
    this.#written = 0;
  }

  #writeHeader(metadata: GgufContents["metadata"]): void {
    const sink = this.#sink;
    sink.bytes(Buffer.from("GGUF"));
    sink.u32(3);
    sink.u64(BigInt(this.#tensors.length));
    // How many keys and items an iterable gives is known at its end only.
    const counts: { position: number; count: number }[] = [{ position: sink.position, count: 0 }];
    sink.u64(0n);
    for (const [key, value] of metadata) {
      counts[0].count++;
      if (key === "general.alignment" && value.type === "uint32") this.#alignment = value.value;
      writeString(sink, key);
      sink.u32(VALUE_TYPES.indexOf(value.type));
      if (value.type === "array") counts.push(writeArray(sink, value));
      else WRITE[value.type](sink, value.value);
    }
    this.#writeTensorTable();
    sink.pad(this.#alignment);
    for (const { position, count } of counts) sink.patchU64(position, BigInt(count));
  }

  #writeTensorTable(): void {
    let offset = 0;
    for (const { name, type, shape, bytes } of this.#tensors) {
      writeString(this.#sink, name);
      this.#sink.u32(shape.length);
      for (const size of shape) this.#sink.u64(BigInt(size));
      this.#sink.u32(tensorTypeId(type)!);
      this.#sink.u64(BigInt(offset));
      offset += Math.ceil(bytes / this.#alignment) * this.#alignment;
    }
  }
}

function tensorBytes({ name, type, shape }: TensorInput): number {
  const format = tensorType(tensorTypeId(type) ?? -1);
  if (!format) throw new SluiceError("bad-input", `tensor ${name} is of the unknown type ${type}`);
  if (shape[0] % format.blockSize !== 0) {
    throw new SluiceError(
      "bad-input",
      `tensor ${name} has ${shape[0]} columns; ${type} takes multiples of ${format.blockSize}`,
    );
  }
  return (shape.reduce((product, size) => product * size, 1) / format.blockSize) * format.blockBytes;
}

function writeArray(sink: ByteSink, array: ArrayInput | ArrayCopy): { position: number; count: number } {
  sink.u32(VALUE_TYPES.indexOf(array.items));
  const position = sink.position;
  sink.u64(0n);
  if ("bytes" in array) {
    for (const piece of array.bytes) sink.bytes(piece);
    return { position, count: array.length };
  }
  let count = 0;
  for (const value of array.values) {
    WRITE[array.items](sink, value);
    count++;
  }
  return { position, count };
}

const WRITE: Readonly<Record<ScalarType, (sink: ByteSink, value: Item) => void>> = {
  uint8: (sink, value) => sink.u8(Number(value)),
  int8: (sink, value) => sink.u8(Number(value)),
  bool: (sink, value) => sink.u8(Number(value)),
  uint16: (sink, value) => sink.u16(Number(value)),
  int16: (sink, value) => sink.u16(Number(value)),
  uint32: (sink, value) => sink.u32(Number(value)),
  int32: (sink, value) => sink.u32(Number(value)),
  uint64: (sink, value) => sink.u64(BigInt.asUintN(64, BigInt(value as number | bigint))),
  int64: (sink, value) => sink.u64(BigInt.asUintN(64, BigInt(value as number | bigint))),
  float32: (sink, value) => sink.f32(Number(value)),
  float64: (sink, value) => sink.f64(Number(value)),
  string: (sink, value) => writeString(sink, value as string | Uint8Array),
};

function writeString(sink: ByteSink, value: string | Uint8Array): void {
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  sink.u64(BigInt(bytes.length));
  sink.bytes(bytes);
}
