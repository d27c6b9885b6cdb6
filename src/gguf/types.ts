/** Metadata value types of GGUF by their number in the file (ggml/docs/gguf.md). */
export const VALUE_TYPES = [
  "uint8",
  "int8",
  "uint16",
  "int16",
  "uint32",
  "int32",
  "float32",
  "bool",
  "string",
  "array",
  "uint64",
  "int64",
  "float64",
] as const;

export type ValueType = (typeof VALUE_TYPES)[number];
export type ScalarType = Exclude<ValueType, "array">;

/** An array of metadata stays in the file: only where it lies is kept. Read it with `readNumbers` or `readStrings`. */
export interface MetadataArray {
  readonly type: "array";
  readonly items: ScalarType;
  readonly length: number;
  /** Position of the first item in the file, and bytes of all items. */
  readonly offset: number;
  readonly bytes: number;
}

export type MetadataValue =
  | { readonly type: "uint8" | "int8" | "uint16" | "int16" | "uint32" | "int32"; readonly value: number }
  | { readonly type: "float32" | "float64"; readonly value: number }
  | { readonly type: "uint64" | "int64"; readonly value: bigint }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "string"; readonly value: string }
  | MetadataArray;

export interface TensorInfo {
  readonly name: string;
  /** Name of the ggml type in lower case as ggml prints it: `f32`, `q8_0`, `q4_K`, … */
  readonly type: string;
  /** Dimensions in ggml's order: [columns, rows, …]; 1 to 4 of them. */
  readonly shape: readonly number[];
  /** Position of the first byte in the file; the parts of a split model count as lying one behind the other. */
  readonly offset: number;
  readonly bytes: number;
}

/** A file of a model. */
export interface GgufPart {
  readonly path: string;
  /** Position of its first byte among the bytes of all parts. */
  readonly start: number;
  readonly bytes: number;
  /** Where in the file its metadata ends and the table of tensors begins, and where that ends. */
  readonly tableStart: number;
  readonly tableEnd: number;
  readonly headerBytes: number;
  /** Time of its last change in ms. */
  readonly modified: number;
  /** Set for bytes that are made from the file and are not the file's own. */
  readonly derived?: true;
}

/** An open GGUF model: everything of its header, and positional reads of the rest. */
export interface Gguf {
  /** The file, the first part of a split model. */
  readonly path: string;
  /** Bytes of all parts. */
  readonly fileBytes: number;
  /** One for a model in one file. */
  readonly parts: readonly GgufPart[];
  readonly version: 2 | 3;
  readonly alignment: number;
  /** Bytes before the (first part's) tensor data: header, metadata, tensor table and padding. */
  readonly headerBytes: number;
  readonly metadata: ReadonlyMap<string, MetadataValue>;
  /** By name, in the order of the file. */
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  /** Fill `target` with the bytes at `offset`; a short file is a `bad-model` error. */
  read(offset: number, target: Uint8Array): void;
  close(): void;
}
