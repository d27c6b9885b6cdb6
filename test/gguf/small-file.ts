import { readFileSync } from "node:fs";
import { type GgufContents, GgufWriter, type MetadataInput } from "../../src/gguf/writer.ts";

/** One value of every type, and arrays. */
export const EVERY_TYPE: readonly (readonly [string, MetadataInput])[] = [
  ["general.architecture", { type: "string", value: "llama" }],
  ["u8", { type: "uint8", value: 200 }],
  ["i8", { type: "int8", value: -100 }],
  ["u16", { type: "uint16", value: 60_000 }],
  ["i16", { type: "int16", value: -30_000 }],
  ["u32", { type: "uint32", value: 4_000_000_000 }],
  ["i32", { type: "int32", value: -2_000_000_000 }],
  ["f32", { type: "float32", value: 0.5 }],
  ["bool", { type: "bool", value: true }],
  ["text", { type: "string", value: "日本 \0\x1b" }],
  ["u64", { type: "uint64", value: 2n ** 63n + 1n }],
  ["i64", { type: "int64", value: -(2n ** 62n) }],
  ["f64", { type: "float64", value: Math.PI }],
  ["__proto__", { type: "string", value: "harmless" }],
  ["words", { type: "array", items: "string", values: ["a", "", "ccc", new Uint8Array([0xff, 0xfe])] }],
  ["numbers", { type: "array", items: "int16", values: [1, -2, 3] }],
  ["long", { type: "array", items: "uint64", values: [1n, 2n ** 40n] }],
  ["bools", { type: "array", items: "bool", values: [true, false] }],
  ["empty", { type: "array", items: "float32", values: [] }],
];

export const TENSORS: GgufContents["tensors"] = [
  { name: "a.weight", type: "f32", shape: [3] },
  { name: "b.weight", type: "q8_0", shape: [64, 2] },
  { name: "none.weight", type: "f16", shape: [4, 0] },
];

/** Write a file of the given contents; tensor bytes are 1, 2, 3, … */
export function writeSmallFile(path: string, contents: Partial<GgufContents> = {}): Buffer {
  const { metadata = EVERY_TYPE, tensors = TENSORS } = contents;
  const writer = new GgufWriter(path, { metadata, tensors });
  if (tensors === TENSORS) {
    writer.write(Uint8Array.from({ length: 12 }, (_, i) => i + 1));
    for (let row = 0; row < 2; row++)
      writer.write(Uint8Array.from({ length: 68 }, (_, i) => row * 68 + i + 1));
  }
  writer.close();
  return readFileSync(path);
}
