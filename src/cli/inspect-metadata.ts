import { readNumbers, readStrings } from "../gguf/arrays.ts";
import type { Gguf, MetadataArray, MetadataValue } from "../gguf/types.ts";

export type ShownItem = string | number | bigint | boolean;

export type ShownValue =
  | { readonly type: string; readonly value: ShownItem }
  | { readonly type: "array"; readonly items: string; readonly length: number; readonly values: ShownItem[] }
  | { readonly type: "array"; readonly items: string; readonly length: number; readonly first: ShownItem[] };

/** Arrays up to this length are shown whole. */
const WHOLE = 64;
/** Items shown of longer ones. */
const FIRST = 8;

/** A metadata value for people and JSON; of a long array the first items only. */
export function showValue(gguf: Gguf, entry: MetadataValue): ShownValue {
  if (entry.type === "float32") return { type: entry.type, value: shortest(entry.value) };
  if (entry.type !== "array") return { type: entry.type, value: entry.value };
  const { type, items, length } = entry;
  if (length <= WHOLE) return { type, items, length, values: firstItems(gguf, entry, length) };
  return { type, items, length, first: firstItems(gguf, entry, FIRST) };
}

function firstItems(gguf: Gguf, array: MetadataArray, count: number): ShownItem[] {
  if (count === 0) return [];
  if (array.items === "string") {
    const text = new TextDecoder("utf-8", { ignoreBOM: true });
    return Array.from(readStrings(gguf, { ...array, length: count }), (bytes) => text.decode(bytes));
  }
  const bytes = (array.bytes / array.length) * count;
  if (array.items === "uint64" || array.items === "int64") {
    // Any of them can be shown, also those beyond what a model may compute with.
    const raw = new Uint8Array(bytes);
    gguf.read(array.offset, raw);
    return [...new (array.items === "uint64" ? BigUint64Array : BigInt64Array)(raw.buffer)];
  }
  const numbers = [...readNumbers(gguf, { ...array, length: count, bytes })];
  return array.items === "bool" ? numbers.map(Boolean) : numbers;
}

/** The shortest decimal that is the same float32: 0.000001 rather than 9.999999974752427e-7. */
function shortest(value: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return rounded;
  }
  return value;
}
