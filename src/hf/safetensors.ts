/**
 * One file of safetensors: eight bytes with the length of a JSON header, the header, then the tensors' bytes
 * (huggingface/safetensors, README.md, "Format"). The header may end in spaces.
 */
import { closeSync, fstatSync } from "node:fs";
import { SluiceError } from "../errors.ts";
import { openRegular, readFully } from "../gguf/read-file.ts";

export interface SafeTensor {
  readonly name: string;
  /** ggml's name: f32, f16 or bf16. */
  readonly type: string;
  /** As PyTorch has it: [rows, columns], or [columns]. */
  readonly shape: readonly number[];
  /** Position of the first byte in the file. */
  readonly offset: number;
  readonly bytes: number;
}

export interface SafeTensorsFile {
  readonly path: string;
  readonly bytes: number;
  readonly headerBytes: number;
  /** Time of its last change in ms. */
  readonly modified: number;
  readonly tensors: readonly SafeTensor[];
  /** @throws SluiceError `bad-model` where the file is shorter than it was */
  read(offset: number, target: Uint8Array): void;
  close(): void;
}

/** What safetensors' own reader takes (MAX_HEADER_SIZE). */
const MAX_HEADER_BYTES = 100_000_000;
const MAX_TENSORS = 1 << 20;
const LENGTH_BYTES = 8;
const TYPES: Readonly<Record<string, { readonly type: string; readonly bytes: number }>> = {
  F32: { type: "f32", bytes: 4 },
  F16: { type: "f16", bytes: 2 },
  BF16: { type: "bf16", bytes: 2 },
};

/**
 * Open a file and read its header. Every length is held against the file's own size before it is believed.
 *
 * @throws SluiceError `io`, `bad-input`, `bad-model`; `unsupported` for tensors that are no floats of 16 or 32 bits
 */
export function openSafeTensors(path: string): SafeTensorsFile {
  const fd = openRegular(path);
  try {
    const { size, mtimeMs } = fstatSync(fd);
    const read = (offset: number, target: Uint8Array) => readFully(path, fd, offset, target);
    if (size < LENGTH_BYTES) throw broken(path, `has ${size} bytes, too few for a header`);
    const start = new Uint8Array(LENGTH_BYTES);
    read(0, start);
    const length = new DataView(start.buffer).getBigUint64(0, true);
    if (length > BigInt(Math.min(MAX_HEADER_BYTES, size - LENGTH_BYTES)))
      throw broken(path, `says that its header has ${length} bytes; the file has ${size}`);
    const header = new Uint8Array(Number(length));
    read(LENGTH_BYTES, header);
    const headerBytes = LENGTH_BYTES + header.length;
    const tensors = parseHeader(path, header, headerBytes, size);
    return { path, bytes: size, headerBytes, modified: mtimeMs, tensors, read, close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function parseHeader(path: string, bytes: Uint8Array, start: number, fileBytes: number): SafeTensor[] {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw broken(path, "has a header that is no JSON");
  }
  if (typeof header !== "object" || header === null || Array.isArray(header))
    throw broken(path, "has a header that is no JSON object");
  const entries = Object.entries(header).filter(([name]) => name !== "__metadata__");
  if (entries.length > MAX_TENSORS) throw broken(path, `has ${entries.length} tensors`);
  const tensors = entries.map(([name, entry]) => parseTensor(path, name, entry, start, fileBytes));
  let end = start;
  for (const { name, offset, bytes } of [...tensors].sort(
    (a, b) => a.offset - b.offset || a.bytes - b.bytes,
  )) {
    if (offset < end) throw broken(path, `has tensors that overlap, ${JSON.stringify(name)} one of them`);
    end = offset + bytes;
  }
  return tensors;
}

function parseTensor(
  path: string,
  name: string,
  entry: unknown,
  start: number,
  fileBytes: number,
): SafeTensor {
  const { dtype, shape, data_offsets: offsets } = (entry ?? {}) as Record<string, unknown>;
  const shown = JSON.stringify(name);
  if (!isSizes(shape) || shape.length > 4 || !isSizes(offsets) || offsets.length !== 2)
    throw broken(path, `describes ${shown} in no way that makes sense`);
  const type = TYPES[String(dtype)];
  if (type === undefined)
    throw new SluiceError(
      "unsupported",
      `${path}: tensor ${shown} is of type ${String(dtype)}; sluice reads F32, F16 and BF16 of safetensors`,
      { next: "Use the model as its makers published it in BF16 or F16, or a GGUF file of it." },
    );
  const [from, to] = offsets;
  const bytes = shape.reduce((product, size) => product * size, type.bytes);
  if (to - from !== bytes || start + to > fileBytes)
    throw broken(
      path,
      `gives bytes ${from} to ${to} of ${fileBytes - start} to ${shown}, which takes ${bytes}`,
    );
  return { name, type: type.type, shape, offset: start + from, bytes };
}

function isSizes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

function broken(path: string, problem: string): SluiceError {
  return new SluiceError("bad-model", `${path} ${problem}`, {
    next: "The file is damaged or was not downloaded to its end; get it again.",
  });
}
