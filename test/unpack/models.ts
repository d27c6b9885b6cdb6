/** Small models to unpack, and an independent reader of what became of them. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { makeModel, PRESETS, type Shape } from "../../scripts/synthetic/model.mjs";
import { openGguf } from "../../src/gguf/open.ts";
import type { Gguf } from "../../src/gguf/types.ts";
import { halfToFloatTable } from "../../src/quant/half.ts";
import { blockFormat } from "../../src/quant/index.ts";
import { decompressChunk } from "../../src/store/compression.ts";
import { layoutChunks, tensorPanelBytes } from "../../src/store/layout.ts";
import { decodeMessage } from "../../src/store/manifest.ts";
import type { StoredFile, StoredTensor } from "../../src/store/types.ts";

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
  const { columns, sources, kind } = tensor;
  const floats = new Float32Array(
    bytes.buffer,
    0,
    kind === "vector" || tensor.dtype === "f32" ? undefined : 0,
  );
  if (kind === "vector") {
    values.get(sources[0])!.set(floats);
    return;
  }
  const target = values.get(sources[panel % sources.length])!;
  const first = Math.floor(panel / sources.length) * 4;
  const halves = halfToFloatTable();
  for (let lane = 0; lane < 4; lane++) {
    for (let column = 0; column < columns; column++) {
      let value = floats[column * 4 + lane];
      if (tensor.dtype === "q8") {
        const block = Math.floor(column / 32) * 136;
        const scale = block + 128 + lane * 2;
        const quad = block + Math.floor((column % 32) / 4) * 16;
        const weight = (bytes[quad + lane * 4 + (column % 4)] << 24) >> 24;
        value = Math.fround(weight * halves[bytes[scale] | (bytes[scale + 1] << 8)]);
      }
      if ((first + lane + 1) * columns <= target.length) target[(first + lane) * columns + column] = value;
      else if (value !== 0) throw new Error("rows that fill a panel up are not zero");
    }
  }
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
