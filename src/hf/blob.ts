import type { MetadataArray } from "../gguf/types.ts";

/** Bytes as a GGUF file would have them, for arrays of metadata and small tensors that no file holds. */
export class Blob {
  readonly #pieces: Uint8Array[] = [];
  #length = 0;

  /** @returns where they begin */
  add(bytes: Uint8Array): number {
    const start = this.#length;
    this.#pieces.push(bytes);
    this.#length += bytes.length;
    return start;
  }

  strings(texts: readonly string[]): MetadataArray {
    const pieces = texts.map((text) => {
      const bytes = Buffer.from(text);
      const length = Buffer.alloc(8);
      length.writeBigUInt64LE(BigInt(bytes.length));
      return Buffer.concat([length, bytes]);
    });
    const all = Buffer.concat(pieces);
    return { type: "array", items: "string", length: texts.length, offset: this.add(all), bytes: all.length };
  }

  numbers(values: Int32Array | Float32Array): MetadataArray {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    const items = values instanceof Int32Array ? "int32" : "float32";
    return { type: "array", items, length: values.length, offset: this.add(bytes), bytes: bytes.length };
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#pieces);
  }
}
