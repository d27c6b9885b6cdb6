/**
 * Blocks of KV cache as records: in pieces of up to a mebibyte, each compressed by LZ4 where that makes it smaller.
 *
 * Keys and values have no repeated bytes. What LZ4 takes away is the unused rest of the last block, which is zeros; of a
 * full block nothing (gain on a trained model, f32 / f16: 1.01 / 1.01; with the bits sorted as in store/compression.ts
 * 1.12 / 1.00, at a tenth of the speed: not worth it).
 */
import type { FileHandle } from "node:fs/promises";
import { SluiceError } from "../errors.ts";
import { compress, uncompress } from "../store/compression.ts";
import { type LogWriter, readPayload, recordAt } from "./log.ts";

const PIECE_BYTES = 1 << 20;

/**
 * Add a block's pieces to a log.
 *
 * @param block may be in shared memory: nothing else than a piece is copied
 * @returns offsets of the records
 */
export async function addBlock(log: LogWriter, block: Uint8Array): Promise<number[]> {
  const offsets: number[] = [];
  for (const piece of piecesOf(block)) {
    const copy = Uint8Array.from(piece);
    offsets.push(await log.add("KEYS", smaller(copy) ?? copy));
  }
  return offsets;
}

/**
 * Read a block back.
 *
 * @param offsets as `addBlock` returned them
 * @param target as many bytes as the block had
 * @returns whether all of it was there and sound; otherwise the target is in no certain state
 */
export async function readBlock(
  file: FileHandle,
  offsets: readonly number[],
  target: Uint8Array,
): Promise<boolean> {
  const pieces = piecesOf(target);
  if (pieces.length !== offsets.length) return false;
  for (const [index, piece] of pieces.entries()) {
    const record = await recordAt(file, offsets[index]);
    if (record?.kind !== "KEYS" || record.bytes > piece.byteLength) return false;
    const read = await readPayload(file, record);
    if (!read?.sound) return false;
    const bytes = record.bytes === piece.byteLength ? read.payload : larger(read.payload, piece.byteLength);
    if (bytes === undefined) return false;
    piece.set(bytes);
  }
  return true;
}

function piecesOf(block: Uint8Array): Uint8Array[] {
  const count = Math.ceil(block.byteLength / PIECE_BYTES);
  return Array.from({ length: count }, (_, index) =>
    block.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES),
  );
}

function smaller(piece: Uint8Array): Uint8Array | undefined {
  try {
    const compressed = compress(piece);
    return compressed.byteLength < piece.byteLength ? compressed : undefined;
  } catch (error) {
    if (error instanceof SluiceError) return undefined;
    throw error;
  }
}

function larger(compressed: Uint8Array, bytes: number): Uint8Array | undefined {
  try {
    return uncompress(compressed, bytes);
  } catch (error) {
    if (error instanceof SluiceError) return undefined;
    throw error;
  }
}
