import type { Cursor } from "./cursor.ts";
import { type MetadataArray, type MetadataValue, type ScalarType, VALUE_TYPES } from "./types.ts";

/** Models have some fifty keys and up to some thousands of tensors; @huggingface/gguf stops at the same number. */
export const MAX_ENTRIES = 100_000;

/** The GGUF specification's limit for a key. */
const MAX_KEY_BYTES = 65_535;

/**
 * Bytes of all string values together, which are the only values kept in memory. The longest string that converters
 * write is a whole tokenizer.json (`tokenizer.huggingface.json`; Gemma's has 33 MB).
 */
const MAX_STRING_BYTES = 64 * 1024 * 1024;

const SCALAR_BYTES: Readonly<Record<Exclude<ScalarType, "string">, number>> = {
  uint8: 1,
  int8: 1,
  uint16: 2,
  int16: 2,
  uint32: 4,
  int32: 4,
  float32: 4,
  bool: 1,
  uint64: 8,
  int64: 8,
  float64: 8,
};

/** Bytes of one item of an array, at least (a string may be empty, but has its length). */
const itemBytes = (type: ScalarType): number => (type === "string" ? 8 : SCALAR_BYTES[type]);

const text = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Read `count` key-value pairs. Arrays are stepped over. Broken UTF-8 in keys and strings becomes U+FFFD.
 * Errors `bad-model`: an empty or repeated key, an unknown type, an array of arrays, anything longer than the file.
 */
export function readMetadata(cursor: Cursor, count: number): Map<string, MetadataValue> {
  const metadata = new Map<string, MetadataValue>();
  let stringBytes = 0;
  for (let index = 0; index < count; index++) {
    cursor.what = `metadata key ${index + 1} of ${count}`;
    const key = text.decode(cursor.string(MAX_KEY_BYTES));
    if (key === "") throw cursor.fail("is empty");
    cursor.what = `metadata ${JSON.stringify(key.slice(0, 100))}`;
    if (metadata.has(key)) throw cursor.fail("is there twice");
    const before = cursor.position;
    const value = readValue(cursor, MAX_STRING_BYTES - stringBytes);
    if (value.type === "string") stringBytes += cursor.position - before;
    metadata.set(key, value);
  }
  return metadata;
}

function readValue(cursor: Cursor, stringLimit: number): MetadataValue {
  const type = readType(cursor);
  switch (type) {
    case "uint8":
      return { type, value: cursor.u8() };
    case "int8":
      return { type, value: cursor.i8() };
    case "uint16":
      return { type, value: cursor.u16() };
    case "int16":
      return { type, value: cursor.i16() };
    case "uint32":
      return { type, value: cursor.u32() };
    case "int32":
      return { type, value: cursor.i32() };
    case "float32":
      return { type, value: cursor.f32() };
    case "float64":
      return { type, value: cursor.f64() };
    case "uint64":
      return { type, value: cursor.u64() };
    case "int64":
      return { type, value: cursor.i64() };
    case "bool":
      return { type, value: cursor.u8() !== 0 };
    case "string":
      return { type, value: text.decode(cursor.string(stringLimit)) };
    case "array":
      return stepOverArray(cursor);
  }
}

function stepOverArray(cursor: Cursor): MetadataArray {
  const items = readType(cursor);
  if (items === "array") throw cursor.fail("is an array of arrays, which no model has");
  const length = cursor.count(itemBytes(items));
  const offset = cursor.position;
  if (items === "string") {
    cursor.skipStrings(length);
  } else {
    cursor.skip(length * itemBytes(items));
  }
  return { type: "array", items, length, offset, bytes: cursor.position - offset };
}

function readType(cursor: Cursor) {
  const id = cursor.u32();
  const type = VALUE_TYPES[id];
  if (type === undefined)
    throw cursor.fail(`has the unknown type ${id} (0 to ${VALUE_TYPES.length - 1} are known)`);
  return type;
}
