import type { Hyperparameters, TensorRole } from "../model/types.ts";

/** How a cache holds the matrices of a model: `tensorDtype` tells what that makes of each. */
export type Dtype = "f32" | "native" | "f16" | "q8";
/** The most exact first. */
export const DTYPES: readonly Dtype[] = ["f32", "native", "f16", "q8"];

/** What the weights of one tensor are made of: floats, or integers with a scale for a block; see panel.ts. */
export type TensorDtype = FloatDtype | QuantizedDtype;
export type FloatDtype = "f32" | "f16" | "bf16";
export type QuantizedDtype = BlockDtype | LowDtype | PackedDtype;
export type BlockDtype = "q8" | "q4";
/** Only in the copy of a model's weights that guesses are made with: see low-panel.ts. */
export type LowDtype = "q3" | "q2";
/** Named as ggml names the types whose weights they keep. */
export type PackedDtype = "q4_1" | "q5_0" | "q5_1" | "q4_K" | "q5_K" | "q6_K" | "iq4_nl" | "iq4_xs" | "mxfp4";

export type Compression = "none" | "lz4";

export interface StoredTensor {
  readonly role: TensorRole;
  /** Names of the tensors in the model file that it was made from, and their types there as ggml calls them. */
  readonly sources: readonly string[];
  readonly sourceTypes: readonly string[];
  readonly kind: "vector" | "matrix";
  readonly rows: number;
  readonly columns: number;
  readonly dtype: TensorDtype;
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
