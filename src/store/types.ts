import type { Hyperparameters, TensorRole } from "../model/types.ts";

/** What a stored weight is made of. */
export type Dtype = "f32" | "q8";
export const DTYPES: readonly Dtype[] = ["f32", "q8"];

export type Compression = "none" | "lz4";

export interface StoredTensor {
  readonly role: TensorRole;
  /** Names of the tensors in the model file that it was made from. */
  readonly sources: readonly string[];
  readonly kind: "vector" | "matrix";
  readonly rows: number;
  readonly columns: number;
  /** Vectors, and matrices whose columns do not divide by 32, are f32 whatever the dtype of the cache. */
  readonly dtype: Dtype;
}

/** Where a chunk lies in its file, and how it is stored. */
export interface StoredChunk {
  /** A multiple of 4096. */
  readonly offset: number;
  /** Bytes that are stored: as many as the chunk has, or fewer where it is compressed. */
  readonly stored: number;
  /** zlib's crc32 of the bytes from `offset` up to the next multiple of 4096. */
  readonly crc32: number;
}

/** One weight file. What its chunks hold follows from the tensors: see `layoutChunks`. */
export interface StoredFile {
  readonly name: string;
  readonly bytes: number;
  readonly tensors: readonly StoredTensor[];
  readonly chunks: readonly StoredChunk[];
}

/** Milliseconds of one file's unpacking by stage. */
export interface UnpackTiming {
  readonly readMs: number;
  readonly dequantizeMs: number;
  /** Rounding to the dtype, arranging in panels, compressing. */
  readonly encodeMs: number;
  /** Waiting for the disk: writing goes on beside the other stages, and this is what they do not hide. */
  readonly writeMs: number;
  readonly ms: number;
}

export interface Manifest {
  /** Version of the cache format. */
  readonly format: number;
  /** Version of sluice that wrote it. */
  readonly sluice: string;
  readonly source: { readonly name: string; readonly bytes: number; readonly fingerprint: string };
  readonly model: Hyperparameters;
  readonly dtype: Dtype;
  readonly compression: Compression;
  readonly tokenizer: { readonly name: string; readonly bytes: number; readonly crc32: number };
  readonly embedding: StoredFile;
  readonly layers: readonly StoredFile[];
  readonly output: StoredFile;
  /** By file name; `ms` of a file that an earlier, interrupted unpack wrote is that run's. */
  readonly timing: Readonly<Record<string, UnpackTiming>>;
}
