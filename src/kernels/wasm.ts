import { readFileSync } from "node:fs";
import { kvBytes, valueDistance } from "./kv-layout.ts";
import type { Address, AttentionShape, Int8Kernels, Kernels } from "./types.ts";

/** What src/kernels/wasm exports. */
interface Exports {
  readonly matmulF32: Kernels["matmulF32"];
  readonly matmulF16: Kernels["matmulF16"];
  readonly matmulBf16: Kernels["matmulBf16"];
  readonly matmulQ8: Kernels["matmulQ8"];
  readonly matmulQ4: Kernels["matmulQ4"];
  readonly rmsNorm: Kernels["rmsNorm"];
  readonly add: Kernels["add"];
  readonly swiglu: Kernels["swiglu"];
  readonly rope: Kernels["rope"];
  readonly quantizeRows: Kernels["quantizeRows"];
  readonly matvecQ8: MultiplyRow;
  readonly matvecQ4: MultiplyRow;
  storeHalves(x: Address, count: number, to: Address): void;
  readonly attentionF32: AttendHead;
  readonly attentionF16: AttendHead;
}

/** One row of rounded activations. */
type MultiplyRow = (
  panels: Address,
  count: number,
  columns: number,
  q: Address,
  scales: Address,
  y: Address,
) => void;

type AttendHead = (
  q: Address,
  headSize: number,
  blocks: Address,
  blockPositions: number,
  keyOffset: number,
  valueOffset: number,
  position: number,
  scores: Address,
  out: Address,
) => void;

/** The compiled kernels, to be shared between threads. */
export function compileKernels(): WebAssembly.Module {
  return new WebAssembly.Module(readFileSync(new URL("./kernels.wasm", import.meta.url)));
}

/** The kernels for 8-bit activations; undefined where the engine or the processor cannot compute them exactly. */
export function createInt8Kernels(memory: WebAssembly.Memory): Int8Kernels | undefined {
  let module: WebAssembly.Module;
  try {
    module = new WebAssembly.Module(readFileSync(new URL("./relaxed.wasm", import.meta.url)));
  } catch (error) {
    // No relaxed SIMD in this engine.
    if ((error as Error).name === "CompileError") return undefined;
    throw error;
  }
  const wasm = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as Int8Kernels & {
    isExact(): number;
  };
  return wasm.isExact() ? wasm : undefined;
}

/** The kernels in WebAssembly (AssemblyScript in src/kernels/wasm), with SIMD. They follow the memory as it grows. */
export function createWasmKernels(module: WebAssembly.Module, memory: WebAssembly.Memory): Kernels {
  const wasm = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as Exports;
  let f32 = new Float32Array(memory.buffer);
  let u32 = new Uint32Array(memory.buffer);

  return {
    matmulF32: wasm.matmulF32,
    matmulF16: wasm.matmulF16,
    matmulBf16: wasm.matmulBf16,
    rmsNorm: wasm.rmsNorm,
    add: wasm.add,
    swiglu: wasm.swiglu,
    rope: wasm.rope,
    quantizeRows: wasm.quantizeRows,

    matmulQ8: tilesThenRows(wasm.matmulQ8, wasm.matvecQ8),
    matmulQ4: tilesThenRows(wasm.matmulQ4, wasm.matvecQ4),

    storeKv(keys, values, shape, blocks, position) {
      if (f32.buffer !== memory.buffer) {
        f32 = new Float32Array(memory.buffer);
        u32 = new Uint32Array(memory.buffer);
      }
      const { headSize, blockPositions, kvType } = shape;
      const within = position % blockPositions;
      const block = u32[blocks / 4 + (position - within) / blockPositions];
      const bytes = kvBytes(kvType);
      for (let head = 0; head < shape.kvHeads; head++) {
        const key = block + keyOffset(shape, head) + within * headSize * bytes;
        const value = key + valueDistance(shape) * bytes;
        const from = head * headSize * 4;
        if (kvType === "f16") {
          wasm.storeHalves(keys + from, headSize, key);
          wasm.storeHalves(values + from, headSize, value);
        } else {
          f32.copyWithin(key / 4, (keys + from) / 4, (keys + from) / 4 + headSize);
          f32.copyWithin(value / 4, (values + from) / 4, (values + from) / 4 + headSize);
        }
      }
    },

    attention(q, shape, blocks, position, firstHead, endHead, scratch, out) {
      const { heads, kvHeads, headSize, blockPositions, kvType } = shape;
      const attend = kvType === "f16" ? wasm.attentionF16 : wasm.attentionF32;
      const valueOffset = valueDistance(shape) * kvBytes(kvType);
      for (let head = firstHead; head < endHead; head++) {
        const key = keyOffset(shape, Math.floor((head * kvHeads) / heads));
        const value = key + valueOffset;
        const at = head * headSize * 4;
        attend(q + at, headSize, blocks, blockPositions, key, value, position, scratch, out + at);
      }
    },
  };
}

/** Rows that fill tiles of four, then those that are left over, one at a time. */
function tilesThenRows(tiles: Kernels["matmulQ8"], oneRow: MultiplyRow): Kernels["matmulQ8"] {
  return (panels, count, columns, q, scales, rows, y, yStride) => {
    const tiled = rows - (rows % 4);
    if (tiled > 0) tiles(panels, count, columns, q, scales, tiled, y, yStride);
    for (let row = tiled; row < rows; row++) {
      const rowScales = scales + (row * columns) / 8;
      oneRow(panels, count, columns, q + row * columns * 2, rowScales, y + row * yStride * 4);
    }
  };
}

/** Where a head's keys begin in a block. */
function keyOffset(
  { layerOffset, blockPositions, headSize, kvType }: AttentionShape,
  kvHead: number,
): number {
  return layerOffset + kvHead * blockPositions * headSize * kvBytes(kvType);
}
