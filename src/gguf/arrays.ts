import { SluiceError } from "../errors.ts";
import { Cursor } from "./cursor.ts";
import type { Gguf, MetadataArray } from "./types.ts";

export type NumberArray =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array;

/** The largest vocabularies have 262,144 tokens; the arrays of numbers in a model have one item a token at most. */
const MAX_NUMBERS = 1 << 24;
/** No token is nearly as long. */
const MAX_STRING_BYTES = 1 << 24;

const TYPED = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
  bool: Uint8Array,
};

/**
 * The items of an array of numbers or bools (0 and 1), in a typed array of their own type; 64-bit integers become
 * doubles. Errors `bad-model`: an array of strings, more than 16 million items, an integer beyond 2^53.
 */
export function readNumbers(gguf: Gguf, array: MetadataArray): NumberArray {
  if (array.items === "string") throw wrong(gguf, array, "holds strings where numbers were expected");
  if (array.length > MAX_NUMBERS)
    throw wrong(gguf, array, `is longer than the ${MAX_NUMBERS} items that are sane`);
  const bytes = new Uint8Array(array.bytes);
  gguf.read(array.offset, bytes);
  switch (array.items) {
    case "uint64":
      return Float64Array.from(new BigUint64Array(bytes.buffer), (value) => exact(gguf, array, value));
    case "int64":
      return Float64Array.from(new BigInt64Array(bytes.buffer), (value) => exact(gguf, array, value));
    case "bool":
      return bytes.map((value) => (value === 0 ? 0 : 1));
    default:
      return new TYPED[array.items](bytes.buffer);
  }
}

function exact(gguf: Gguf, array: MetadataArray, value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw wrong(gguf, array, `holds ${value}, which is beyond 2^53`);
  return number;
}

/**
 * The strings of an array as raw bytes, one after the other; the file is read in pieces of 256 KiB. The views stay
 * valid, but each keeps the piece that it lies in from being freed: copy what is to be kept.
 */
export function* readStrings(gguf: Gguf, array: MetadataArray): Generator<Uint8Array, void, undefined> {
  if (array.items !== "string") throw wrong(gguf, array, `holds ${array.items} where strings were expected`);
  const cursor = new Cursor(
    gguf.path,
    gguf.read,
    array.offset,
    array.offset + array.bytes,
    `array of ${array.length} strings`,
  );
  for (let index = 0; index < array.length; index++) yield cursor.stringView(MAX_STRING_BYTES);
}

function wrong(gguf: Gguf, array: MetadataArray, problem: string): SluiceError {
  return new SluiceError(
    "bad-model",
    `${gguf.path}: the metadata array of ${array.length} items at byte ${array.offset} ${problem}`,
    { next: "The file is damaged or was converted wrongly; download or convert it again." },
  );
}
