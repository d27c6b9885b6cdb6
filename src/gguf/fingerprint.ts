import { createHash, type Hash } from "node:crypto";
import type { Gguf, GgufPart } from "./types.ts";

const PIECE_BYTES = 1024 * 1024;
/** Places in the weights that are looked at, and how much of each. */
const SAMPLES = 32;
const SAMPLE_BYTES = 1024;

/**
 * What tells one model file from another without reading its gigabytes: SHA-256 in hex of the header's bytes
 * (metadata, vocabulary, tensor table), the size of the file as a uint64, and samples of the weights, for two
 * fine-tunes of one model may differ in nothing else. Of a split model, all that of each part in turn. Moving or
 * touching the files changes nothing.
 */
export function fingerprint(gguf: Gguf): string {
  const hash = createHash("sha256");
  const piece = new Uint8Array(PIECE_BYTES);
  const add = (offset: number, bytes: number) => {
    gguf.read(offset, piece.subarray(0, bytes));
    hash.update(piece.subarray(0, bytes));
  };
  for (const part of gguf.parts) addPart(part, hash, add);
  return hash.digest("hex");
}

function addPart(part: GgufPart, hash: Hash, add: (offset: number, bytes: number) => void): void {
  // A file without tensors may lack the padding of its header.
  const header = Math.min(part.headerBytes, part.bytes);
  for (let offset = 0; offset < header; offset += PIECE_BYTES)
    add(part.start + offset, Math.min(PIECE_BYTES, header - offset));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(part.bytes));
  hash.update(size);
  const step = (part.bytes - header) / SAMPLES;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const offset = header + Math.floor(sample * step);
    add(part.start + offset, Math.min(SAMPLE_BYTES, part.bytes - offset));
  }
}
