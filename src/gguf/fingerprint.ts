import { createHash } from "node:crypto";
import type { Gguf } from "./types.ts";

const PIECE_BYTES = 1024 * 1024;

/**
 * What tells one model file from another without reading its gigabytes: SHA-256 in hex of the header's bytes
 * (metadata, vocabulary, tensor table) followed by the size of the file as a uint64. Moving or touching the file
 * changes nothing.
 */
export function fingerprint(gguf: Gguf): string {
  const hash = createHash("sha256");
  // A file without tensors may lack the padding of its header.
  const end = Math.min(gguf.headerBytes, gguf.fileBytes);
  const piece = new Uint8Array(Math.min(PIECE_BYTES, end));
  for (let offset = 0; offset < end; offset += piece.length) {
    const part = piece.subarray(0, Math.min(piece.length, end - offset));
    gguf.read(offset, part);
    hash.update(part);
  }
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(gguf.fileBytes));
  return hash.update(size).digest("hex");
}
