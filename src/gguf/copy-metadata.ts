import type { Gguf, MetadataArray } from "./types.ts";
import type { MetadataInput } from "./writer.ts";

const PIECE_BYTES = 1 << 16;

/** The metadata of a model to be written into another file; arrays are copied byte for byte, in pieces. */
export function* copyMetadata(gguf: Gguf): Generator<readonly [string, MetadataInput], void, undefined> {
  for (const [key, entry] of gguf.metadata) {
    if (entry.type !== "array") yield [key, entry];
    else {
      const { items, length } = entry;
      yield [key, { type: "array", items, length, bytes: bytesOf(gguf, entry) }];
    }
  }
}

function* bytesOf(gguf: Gguf, { offset, bytes }: MetadataArray): Generator<Uint8Array, void, undefined> {
  const piece = new Uint8Array(Math.min(PIECE_BYTES, bytes));
  for (let done = 0; done < bytes; done += piece.length) {
    const part = piece.subarray(0, Math.min(piece.length, bytes - done));
    gguf.read(offset + done, part);
    yield part;
  }
}
