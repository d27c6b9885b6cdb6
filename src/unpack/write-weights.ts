import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { throwIfAborted } from "../errors.ts";
import type { Gguf } from "../gguf/types.ts";
import { syncFolder } from "../store/atomic.ts";
import { compressChunk } from "../store/compression.ts";
import { alignUp, tensorPanelBytes, tensorPanels } from "../store/layout.ts";
import { PARTIAL } from "../store/names.ts";
import type { StoredChunk, StoredFile, UnpackTiming } from "../store/types.ts";
import { BackgroundWriter } from "./background-writer.ts";
import { ChunkMaker, type MakingTime } from "./chunk-maker.ts";
import type { PlannedFile } from "./planned-file.ts";
import type { TensorTiming } from "./types.ts";

export interface WriteOptions {
  readonly compress: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Called when the file is complete, before it gets its name: the last moment to refuse it by throwing. */
  readonly check: () => void;
  /** Called with the bytes so far, before compression. */
  readonly onBytes: (bytes: number) => void;
}

export interface WrittenFile {
  readonly file: StoredFile;
  readonly timing: UnpackTiming;
}

/** A file that was just written, and what each of its tensors took. */
export interface NewFile extends WrittenFile {
  readonly tensors: readonly TensorTiming[];
}

/**
 * Write one weight file. It appears under its name when it is complete and durable; otherwise nothing is left.
 * While one chunk is written, the next is made.
 *
 * @throws SluiceError of the source or `aborted`, or the operating system's error of the target
 */
export async function writeWeights(
  folder: string,
  gguf: Gguf,
  planned: PlannedFile,
  options: WriteOptions,
): Promise<NewFile> {
  const start = performance.now();
  const path = join(folder, planned.name);
  const maker = new ChunkMaker(gguf, planned.tensors);
  const writer = await BackgroundWriter.create(path + PARTIAL);
  try {
    const { chunks, sealMs } = await writeChunks(writer, maker, planned, options);
    await writer.finish();
    await writer.close();
    options.check();
    renameSync(path + PARTIAL, path);
    syncFolder(folder);
    const bytes = chunks.reduce((sum, chunk) => sum + alignUp(chunk.stored), 0);
    const ms = performance.now() - start;
    const sum = (pick: (time: MakingTime) => number) =>
      maker.times.reduce((total, time) => total + pick(time), 0);
    const readMs = sum((time) => time.readMs);
    const dequantizeMs = sum((time) => time.dequantizeMs);
    const encodeMs = sum((time) => time.encodeMs) + sealMs;
    // Writing goes on beside the rest; what it costs is the time that the rest does not explain.
    const writeMs = ms - readMs - dequantizeMs - encodeMs;
    return {
      file: { name: planned.name, bytes, tensors: planned.tensors, chunks },
      timing: { readMs, dequantizeMs, encodeMs, writeMs, ms },
      tensors: planned.tensors.map((tensor, index) => ({
        name: tensor.role,
        bytes: tensorPanels(tensor) * tensorPanelBytes(tensor),
        ...maker.times[index],
      })),
    };
  } catch (error) {
    await writer.close().catch(() => {});
    rmSync(path + PARTIAL, { force: true });
    throw error;
  }
}

async function writeChunks(
  writer: BackgroundWriter,
  maker: ChunkMaker,
  { chunks, compressible }: PlannedFile,
  { compress, signal, onBytes }: WriteOptions,
): Promise<{ chunks: StoredChunk[]; sealMs: number }> {
  const longest = Math.max(...chunks.map((chunk) => chunk.bytes));
  // One is written while the other is filled.
  const buffers = [new Uint8Array(longest), new Uint8Array(longest)];
  const scratch = compress && compressible ? new Uint8Array(longest) : undefined;
  const stored: StoredChunk[] = [];
  let offset = 0;
  let made = 0;
  /** Compressing and checksums: of chunks, which may hold parts of several tensors. */
  let sealMs = 0;
  for (const [index, chunk] of chunks.entries()) {
    throwIfAborted(signal);
    const buffer = buffers[index % 2].subarray(0, chunk.bytes);
    maker.fill(chunk, buffer);
    const start = performance.now();
    const length = scratch ? compressInPlace(buffer, scratch) : chunk.bytes;
    const bytes = buffer.subarray(0, alignUp(length));
    stored.push({ offset, stored: length, crc32: crc32(bytes) });
    sealMs += performance.now() - start;
    await writer.append(bytes);
    offset += bytes.length;
    made += chunk.bytes;
    onBytes(made);
  }
  return { chunks: stored, sealMs };
}

/** Replace a chunk by its compressed form and zeros up to the next page, if that is shorter. Returns its length. */
function compressInPlace(chunk: Uint8Array, scratch: Uint8Array): number {
  const compressed = compressChunk(chunk, scratch.subarray(0, chunk.length));
  if (!compressed) return chunk.length;
  chunk.set(compressed);
  chunk.fill(0, compressed.length, alignUp(compressed.length));
  return compressed.length;
}
