import { createHash } from "node:crypto";
import type { Gguf } from "./types.ts";

const PIECE_BYTES = 1024 * 1024;
/** Places in the weights that are looked at, and how much of each. */
const SAMPLES = 32;
const SAMPLE_BYTES = 1024;

/**
 * What tells one model file from another without reading its gigabytes: SHA-256 in hex of the header's bytes
 * (metadata, vocabulary, tensor table), the size of the file as a uint64, and samples of the weights, for two
 * fine-tunes of one model may differ in nothing else. Moving or touching the file changes nothing.
 */
export function fingerprint(gguf: Gguf): string {
  const hash = createHash("sha256");
  // A file without tensors may lack the padding of its header.
  const header = Math.min(gguf.headerBytes, gguf.fileBytes);
  const piece = new Uint8Array(PIECE_BYTES);
  const add = (offset: number, bytes: number) => {
    gguf.read(offset, piece.subarray(0, bytes));
    hash.update(piece.subarray(0, bytes));
  };
  for (let offset = 0; offset < header; offset += PIECE_BYTES)
    add(offset, Math.min(PIECE_BYTES, header - offset));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(gguf.fileBytes));
  hash.update(size);
  const step = (gguf.fileBytes - header) / SAMPLES;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const offset = header + Math.floor(sample * step);
    add(offset, Math.min(SAMPLE_BYTES, gguf.fileBytes - offset));
  }
  return hash.digest("hex");
}
