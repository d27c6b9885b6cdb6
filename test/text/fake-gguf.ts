import type { Gguf, MetadataValue } from "../../src/gguf/types.ts";

type Value = string | number | boolean | Uint8Array[] | string[] | Int32Array | Float32Array;

/** An open GGUF "file" that holds just this metadata, for tokenizers too small to deserve a file. */
export function fakeGguf(values: Readonly<Record<string, Value>>): Gguf {
  const parts: Uint8Array[] = [];
  let end = 0;
  const metadata = new Map<string, MetadataValue>();
  for (const [key, value] of Object.entries(values)) {
    if (typeof value === "string") metadata.set(key, { type: "string", value });
    else if (typeof value === "number") metadata.set(key, { type: "uint32", value });
    else if (typeof value === "boolean") metadata.set(key, { type: "bool", value });
    else {
      const bytes = arrayBytes(value);
      const items = Array.isArray(value) ? "string" : value instanceof Int32Array ? "int32" : "float32";
      metadata.set(key, { type: "array", items, length: value.length, offset: end, bytes: bytes.length });
      parts.push(bytes);
      end += bytes.length;
    }
  }
  const file = Buffer.concat(parts);
  return {
    path: "fake.gguf",
    fileBytes: file.length,
    parts: [],
    version: 3,
    alignment: 32,
    headerBytes: file.length,
    metadata,
    tensors: new Map(),
    read: (offset, target) => void target.set(file.subarray(offset, offset + target.length)),
    close: () => {},
  };
}

function arrayBytes(value: Uint8Array[] | string[] | Int32Array | Float32Array): Uint8Array {
  if (!Array.isArray(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const pieces = value.map((item) => Buffer.from(item as string));
  return Buffer.concat(
    pieces.flatMap((piece) => {
      const length = Buffer.alloc(8);
      length.writeBigUInt64LE(BigInt(piece.length));
      return [length, piece];
    }),
  );
}
