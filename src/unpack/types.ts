import type { LockHolder } from "../store/lock.ts";
import type { Compression, Dtype, Manifest, UnpackTiming } from "../store/types.ts";

/** What one tensor of a file took, without what only the file as a whole knows: checksums, compression, writing. */
export interface TensorTiming {
  /** What it is: `attn_q`. */
  readonly name: string;
  /** As unpacked. */
  readonly bytes: number;
  readonly readMs: number;
  readonly dequantizeMs: number;
  readonly encodeMs: number;
}

/** What an unpack tells of itself, in this order: waiting*, outdated?, start, kept*, (file, written*, file-done)*. */
export type UnpackEvent =
  | { readonly type: "waiting"; readonly holder: LockHolder }
  /** A cache of another format is there, which this one will replace. */
  | { readonly type: "outdated"; readonly folder: string; readonly format: number }
  | {
      readonly type: "start";
      readonly folder: string;
      readonly files: number;
      /** Bytes of all weight files before compression. */
      readonly bytes: number;
    }
  /** A file that an earlier, interrupted run finished has been found sound and is kept. */
  | { readonly type: "kept"; readonly file: string; readonly doneBytes: number }
  | { readonly type: "file"; readonly file: string; readonly bytes: number; readonly doneBytes: number }
  /** Bytes (before compression) of this file and of all files so far. */
  | {
      readonly type: "written";
      readonly file: string;
      readonly fileBytes: number;
      readonly doneBytes: number;
    }
  | {
      readonly type: "file-done";
      readonly file: string;
      readonly bytes: number;
      /** Bytes on disk. */
      readonly stored: number;
      readonly doneBytes: number;
      readonly timing: UnpackTiming;
      readonly tensors: readonly TensorTiming[];
    };

export interface UnpackOptions {
  /** Default f32. */
  readonly dtype?: Dtype;
  /** Default none. */
  readonly compression?: Compression;
  /** Folder of all caches: see `cacheRoot`. */
  readonly root: string;
  /** Do everything again, though there is a finished cache; it stays until the new one is complete. */
  readonly force?: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((event: UnpackEvent) => void) | undefined;
}

export interface UnpackResult {
  readonly folder: string;
  readonly manifest: Manifest;
  /** Whether the finished cache was there. */
  readonly reused: boolean;
  /** Weight files that were kept from an interrupted run. */
  readonly resumed: number;
  readonly ms: number;
}
