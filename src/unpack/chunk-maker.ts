import type { Gguf, TensorInfo } from "../gguf/types.ts";
import type { BlockFormat } from "../quant/block-format.ts";
import { roundToF16 } from "../quant/f16.ts";
import { blockFormat } from "../quant/index.ts";
import { quantizeQ8_0 } from "../quant/q8_0.ts";
import { type Chunk, type ChunkPart, tensorPanelBytes } from "../store/layout.ts";
import { packPanels } from "../store/pack-panels.ts";
import { PACKED_DTYPES } from "../store/packed-panel.ts";
import { PANEL_ROWS } from "../store/panel.ts";
import type { StoredTensor, TensorDtype } from "../store/types.ts";

/** Milliseconds spent so far on a tensor. */
export interface MakingTime {
  readMs: number;
  dequantizeMs: number;
  encodeMs: number;
}

interface Source {
  readonly tensor: TensorInfo;
  readonly format: BlockFormat;
}

/**
 * Makes chunks from the tensors of a model file. Holds no more than the source's bytes of one chunk, and one panel
 * in each form on its way: raw, float32, rounded.
 */
export class ChunkMaker {
  /** Of each tensor. */
  readonly times: readonly MakingTime[];
  #time: MakingTime;
  readonly #gguf: Gguf;
  readonly #tensors: readonly StoredTensor[];
  readonly #sources: readonly (readonly Source[])[];
  #raw = new Uint8Array(0);
  readonly #values: Float32Array;
  readonly #rounded: Uint8Array;

  /** @throws SluiceError `unsupported` for a tensor type that cannot be read */
  constructor(gguf: Gguf, tensors: readonly StoredTensor[]) {
    this.#gguf = gguf;
    this.#tensors = tensors;
    this.times = tensors.map(() => ({ readMs: 0, dequantizeMs: 0, encodeMs: 0 }));
    this.#time = this.times[0];
    this.#sources = tensors.map(({ sources }) =>
      sources.map((name) => {
        const tensor = gguf.tensors.get(name)!;
        return { tensor, format: blockFormat(tensor.type, name) };
      }),
    );
    const columns = Math.max(...tensors.map((tensor) => tensor.columns));
    this.#values = new Float32Array(columns * PANEL_ROWS);
    // Two bytes a value are enough for float16 and Q8_0.
    this.#rounded = new Uint8Array(columns * PANEL_ROWS * 2);
  }

  /**
   * Fill a chunk.
   *
   * @param target (chunk.bytes), 4096-byte aligned in its buffer; every byte is written
   * @throws SluiceError `bad-model` where the file is shorter than it was
   */
  fill(chunk: Chunk, target: Uint8Array): void {
    let end = 0;
    for (const part of chunk.parts) {
      target.fill(0, end, part.offset);
      end = part.offset + part.bytes;
      this.#time = this.times[part.tensor];
      this.#fillPart(part, target.subarray(part.offset, end));
    }
    target.fill(0, end);
  }

  #fillPart(part: ChunkPart, target: Uint8Array): void {
    const tensor = this.#tensors[part.tensor];
    const sources = this.#sources[part.tensor];
    if (tensor.kind === "vector") this.#fillVector(sources[0], tensor.columns, target);
    else for (let i = 0; i < sources.length; i++) this.#fillFrom(part, tensor, sources, i, target);
  }

  #fillVector(source: Source, count: number, target: Uint8Array): void {
    const raw = this.#read(source, 0, 1, count);
    const start = performance.now();
    source.format.dequantize(raw, floats(target), count);
    this.#time.dequantizeMs += performance.now() - start;
  }

  /** The part's panels that come from one of the interleaved sources: stored panel p is panel p / n of source p % n. */
  #fillFrom(
    part: ChunkPart,
    stored: StoredTensor,
    sources: readonly Source[],
    index: number,
    target: Uint8Array,
  ): void {
    const n = sources.length;
    const { columns } = stored;
    const { format } = sources[index];
    const rows = stored.rows / n;
    const first = part.firstPanel / n;
    const end = first + part.panels / n;
    const firstRow = first * PANEL_ROWS;
    const raw = this.#read(sources[index], firstRow, Math.min(end * PANEL_ROWS, rows) - firstRow, columns);
    const rawPanel = rowBytes(format, columns) * PANEL_ROWS;
    const panelSize = tensorPanelBytes(stored);
    for (let panel = first; panel < end; panel++) {
      const count = Math.min(PANEL_ROWS, rows - panel * PANEL_ROWS);
      const from = (panel - first) * rawPanel;
      const to = (panel * n + index - part.firstPanel) * panelSize;
      const piece = target.subarray(to, to + panelSize);
      this.#encode(raw.subarray(from, from + rawPanel), count, columns, format, stored, piece);
    }
  }

  /** One panel from `count` rows as they are in the model file. */
  #encode(
    raw: Uint8Array,
    count: number,
    columns: number,
    format: BlockFormat,
    { dtype }: StoredTensor,
    panel: Uint8Array,
  ): void {
    const start = performance.now();
    const kept = format.name === GGML_TYPES[dtype];
    if (!kept) format.dequantize(raw, this.#values, count * columns);
    const dequantized = performance.now();
    const rows = kept ? raw : this.#round(dtype, count * columns);
    packPanels(dtype, rows, count, columns, panel);
    this.#time.dequantizeMs += dequantized - start;
    this.#time.encodeMs += performance.now() - dequantized;
  }

  /** The first values as ggml's type of the same weights. */
  #round(dtype: TensorDtype, count: number): Uint8Array {
    if (dtype === "q8") quantizeQ8_0(this.#values, this.#rounded, count);
    else if (dtype === "f16") roundToF16(this.#values, this.#rounded, count);
    else return bytesOf(this.#values);
    return this.#rounded;
  }

  /** Rows of a source as they are in the file: (count, bytes of a row). Valid until the next call. */
  #read({ tensor, format }: Source, firstRow: number, count: number, columns: number): Uint8Array {
    const start = performance.now();
    const size = rowBytes(format, columns);
    if (this.#raw.length < count * size) this.#raw = new Uint8Array(count * size);
    const raw = this.#raw.subarray(0, count * size);
    this.#gguf.read(tensor.offset + firstRow * size, raw);
    this.#time.readMs += performance.now() - start;
    return raw;
  }
}

/** What ggml calls the weights of each dtype: from this type they are taken as they are. */
const GGML_TYPES = {
  f32: "f32",
  f16: "f16",
  bf16: "bf16",
  q8: "q8_0",
  q4: "q4_0",
  ...Object.fromEntries(PACKED_DTYPES.map((dtype) => [dtype, dtype])),
} as Record<TensorDtype, string>;

function rowBytes(format: BlockFormat, columns: number): number {
  return (columns / format.blockSize) * format.blockBytes;
}

function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function floats(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}
