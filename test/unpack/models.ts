/** Small models to unpack, and an independent reader of what became of them. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { makeModel, PRESETS, type Shape } from "../../scripts/synthetic/model.mjs";
import { copyMetadata } from "../../src/gguf/copy-metadata.ts";
import { openGguf } from "../../src/gguf/open.ts";
import type { Gguf } from "../../src/gguf/types.ts";
import { GgufWriter } from "../../src/gguf/writer.ts";
import { halfToFloatTable } from "../../src/quant/half.ts";
import { blockFormat } from "../../src/quant/index.ts";
import { decompressChunk } from "../../src/store/compression.ts";
import { layoutChunks, tensorPanelBytes } from "../../src/store/layout.ts";
import { decodeMessage } from "../../src/store/manifest.ts";
import { isPacked } from "../../src/store/packed-panel.ts";
import { isLow } from "../../src/store/panel.ts";
import { readPanelRow } from "../../src/store/panel-row.ts";
import type { LowDtype, PackedDtype, StoredFile, StoredTensor, TensorDtype } from "../../src/store/types.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A fresh folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  folders.push(folder);
  return folder;
}

/** A synthetic model file: the tiny preset with changes. */
export function makeFile(changes: Partial<Shape> = {}, name = "model.gguf"): string {
  const path = join(temporaryFolder(), name);
  makeModel(path, { ...PRESETS["tiny"], ...changes });
  return path;
}

/**
 * A synthetic model file of 256 columns whose matrices take the given types in turn. The bits of the blocks are random,
 * but no scale is infinite or no number.
 */
export function makeMixedFile(types: readonly string[], layers: number): string {
  const model = makeFile({
    type: "f32",
    layers,
    width: 256,
    feedForward: 256,
    vocabulary: 300,
    untied: true,
  });
  const path = join(temporaryFolder(), "mixed.gguf");
  return withGguf(model, (gguf) => {
    const matrices = [...gguf.tensors.values()].filter(({ shape }) => shape.length > 1);
    const tensors = [...gguf.tensors.values()].map((tensor) => {
      const index = matrices.indexOf(tensor);
      return index < 0 ? tensor : { ...tensor, type: types[index % types.length] };
    });
    const writer = new GgufWriter(path, { metadata: copyMetadata(gguf), tensors });
    let state = 1;
    for (const { name, type, shape } of tensors) {
      const values = shape.reduce((product, size) => product * size, 1);
      const { blockSize, blockBytes } = blockFormat(type);
      const bytes = new Uint8Array((values / blockSize) * blockBytes);
      if (shape.length === 1) gguf.read(gguf.tensors.get(name)!.offset, bytes);
      for (let i = 0; i < bytes.length && shape.length > 1; i++) {
        state = (Math.imul(state, 1664525) + 1013904223) | 0;
        // Exponents of float16 and bfloat16 that are not all ones.
        bytes[i] = (state >>> 24) & 0xbb;
      }
      writer.write(bytes);
    }
    writer.close();
    return path;
  });
}

/** Values of a tensor of the model file, row by row. */
export function sourceValues(gguf: Gguf, name: string): Float32Array {
  const tensor = gguf.tensors.get(name)!;
  const bytes = new Uint8Array(tensor.bytes);
  gguf.read(tensor.offset, bytes);
  const count = tensor.shape.reduce((product, size) => product * size, 1);
  const values = new Float32Array(count);
  blockFormat(tensor.type).dequantize(bytes, values, count);
  return values;
}

export function withGguf<T>(path: string, use: (gguf: Gguf) => T): T {
  const gguf = openGguf(path);
  try {
    return use(gguf);
  } finally {
    gguf.close();
  }
}

/** Values of every source of every tensor of a weight file, row by row, read as the layout says. */
export function storedValues(folder: string, file: StoredFile): Map<string, Float32Array> {
  const content = readFileSync(join(folder, file.name));
  const values = new Map<string, Float32Array>();
  for (const tensor of file.tensors)
    for (const source of tensor.sources)
      values.set(source, new Float32Array((tensor.rows / tensor.sources.length) * tensor.columns).fill(NaN));
  for (const [index, chunk] of layoutChunks(file.tensors).entries()) {
    const { offset, stored } = file.chunks[index];
    const bytes = new Uint8Array(chunk.bytes);
    const raw = content.subarray(offset, offset + stored);
    if (stored === chunk.bytes) bytes.set(raw);
    else decompressChunk(raw, bytes);
    const used = new Uint8Array(chunk.bytes);
    for (const part of chunk.parts) {
      const tensor = file.tensors[part.tensor];
      const size = tensorPanelBytes(tensor);
      used.fill(1, part.offset, part.offset + part.bytes);
      for (let panel = 0; panel < part.panels; panel++) {
        const from = part.offset + panel * size;
        readPanel(tensor, part.firstPanel + panel, bytes.slice(from, from + size), values);
      }
    }
    if (bytes.some((byte, i) => byte !== 0 && used[i] === 0)) throw new Error(`padding of chunk ${index}`);
  }
  return values;
}

function readPanel(
  tensor: StoredTensor,
  panel: number,
  bytes: Uint8Array,
  values: Map<string, Float32Array>,
): void {
  const { columns, sources, kind, dtype } = tensor;
  if (kind === "vector") {
    values.get(sources[0])!.set(new Float32Array(bytes.buffer));
    return;
  }
  const target = values.get(sources[panel % sources.length])!;
  const first = Math.floor(panel / sources.length) * 4;
  const row = new Float32Array(columns);
  for (let lane = 0; lane < 4; lane++) {
    // Rows of packed panels are held against what they were made from in test/store/panel.test.ts.
    const byRow = isPacked(dtype) || isLow(dtype);
    if (byRow) readPanelRow(dtype, bytes, lane, row);
    for (let column = 0; column < columns; column++) {
      const value = byRow ? row[column] : READERS[dtype](bytes, lane, column);
      if ((first + lane + 1) * columns <= target.length) target[(first + lane) * columns + column] = value;
      else if (value !== 0) throw new Error("rows that fill a panel up are not zero");
    }
  }
}

const READERS: Record<
  Exclude<TensorDtype, PackedDtype | LowDtype>,
  (bytes: Uint8Array, lane: number, column: number) => number
> = {
  f32: (bytes, lane, column) => view(bytes).getFloat32((column * 4 + lane) * 4, true),
  f16: (bytes, lane, column) => half(bytes, (column * 4 + lane) * 2),
  bf16(bytes, lane, column) {
    const at = (column * 4 + lane) * 2;
    return view(Uint8Array.of(0, 0, bytes[at], bytes[at + 1])).getFloat32(0, true);
  },
  q8(bytes, lane, column) {
    const block = Math.floor(column / 32) * 136;
    const quad = block + Math.floor((column % 32) / 4) * 16;
    const weight = (bytes[quad + lane * 4 + (column % 4)] << 24) >> 24;
    return Math.fround(weight * half(bytes, block + 128 + lane * 2));
  },
  q4(bytes, lane, column) {
    const block = Math.floor(column / 32) * 72;
    const quad = block + Math.floor((column % 16) / 4) * 16;
    const pair = bytes[quad + lane * 4 + (column % 4)];
    const four = column % 32 < 16 ? pair & 15 : pair >> 4;
    return Math.fround((four < 8 ? four : four - 16) * half(bytes, block + 64 + lane * 2));
  },
};

function half(bytes: Uint8Array, at: number): number {
  return halfToFloatTable()[bytes[at] | (bytes[at + 1] << 8)];
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Everything in a cache folder that must be the same in every unpack of the same: all but times. */
export function folderContent(folder: string): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name));
    if (name !== "manifest.msgpack") content[name] = bytes.toString("base64");
    else content[name] = { ...(decodeMessage(bytes) as object), timing: {} };
  }
  return content;
}
