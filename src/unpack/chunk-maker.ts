import type { Gguf, TensorInfo } from "../gguf/types.ts";
import type { BlockFormat } from "../quant/block-format.ts";
import { blockFormat } from "../quant/index.ts";
import { quantizeQ8_0 } from "../quant/q8_0.ts";
import { type Chunk, type ChunkPart, tensorPanelBytes } from "../store/layout.ts";
import { BLOCK_COLUMNS, PANEL_ROWS, packPanelsF32, packPanelsQ8 } from "../store/panel.ts";
import type { StoredTensor } from "../store/types.ts";

/** Milliseconds spent so far. */
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
 * in each form on its way: raw, float32, Q8_0.
 */
export class ChunkMaker {
  readonly time: MakingTime = { readMs: 0, dequantizeMs: 0, encodeMs: 0 };
  readonly #gguf: Gguf;
  readonly #tensors: readonly StoredTensor[];
  readonly #sources: readonly (readonly Source[])[];
  #raw = new Uint8Array(0);
  readonly #values: Float32Array;
  readonly #blocks: Uint8Array;

  /** @throws SluiceError `unsupported` for a tensor type that cannot be read */
  constructor(gguf: Gguf, tensors: readonly StoredTensor[]) {
    this.#gguf = gguf;
    this.#tensors = tensors;
    this.#sources = tensors.map(({ sources }) =>
      sources.map((name) => {
        const tensor = gguf.tensors.get(name)!;
        return { tensor, format: blockFormat(tensor.type, name) };
      }),
    );
    const columns = Math.max(...tensors.map((tensor) => tensor.columns));
    this.#values = new Float32Array(columns * PANEL_ROWS);
    this.#blocks = new Uint8Array((columns / BLOCK_COLUMNS) * Q8_0_BYTES * PANEL_ROWS);
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
    this.time.dequantizeMs += performance.now() - start;
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
    const first = Math.ceil((part.firstPanel - index) / n);
    const end = Math.ceil((part.firstPanel + part.panels - index) / n);
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
    stored: StoredTensor,
    panel: Uint8Array,
  ): void {
    const start = performance.now();
    if (stored.dtype === "q8" && format.name === "q8_0") {
      packPanelsQ8(raw, count, columns, panel);
      this.time.encodeMs += performance.now() - start;
      return;
    }
    format.dequantize(raw, this.#values, count * columns);
    const dequantized = performance.now();
    if (stored.dtype === "f32") packPanelsF32(this.#values, count, columns, floats(panel));
    else {
      quantizeQ8_0(this.#values, this.#blocks, count * columns);
      packPanelsQ8(this.#blocks, count, columns, panel);
    }
    this.time.dequantizeMs += dequantized - start;
    this.time.encodeMs += performance.now() - dequantized;
  }

  /** Rows of a source as they are in the file: (count, bytes of a row). Valid until the next call. */
  #read({ tensor, format }: Source, firstRow: number, count: number, columns: number): Uint8Array {
    const start = performance.now();
    const size = rowBytes(format, columns);
    if (this.#raw.length < count * size) this.#raw = new Uint8Array(count * size);
    const raw = this.#raw.subarray(0, count * size);
    this.#gguf.read(tensor.offset + firstRow * size, raw);
    this.time.readMs += performance.now() - start;
    return raw;
  }
}

/** Bytes of 32 values in ggml's Q8_0. */
const Q8_0_BYTES = 34;

function rowBytes(format: BlockFormat, columns: number): number {
  return (columns / format.blockSize) * format.blockBytes;
}

function floats(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}
