import { readFileSync } from "node:fs";
import { PACKED_DTYPES } from "../store/packed-panel.ts";
import type { PackedDtype } from "../store/types.ts";
import { keyOffset, valueDistance } from "./kv-layout.ts";
import type { Address, Int8Kernels, Kernels } from "./types.ts";

/** What src/kernels/wasm exports; products of one row are named as their dtype, in capitals. */
interface Exports extends Readonly<Record<`matvec${Uppercase<PackedDtype>}`, MultiplyPackedRow>> {
  readonly matmulF32: Kernels["matmulF32"];
  readonly matmulF16: Kernels["matmulF16"];
  readonly matmulBf16: Kernels["matmulBf16"];
  readonly matmulQ8: Kernels["matmulQ8"];
  readonly matmulQ4: Kernels["matmulQ4"];
  readonly rmsNorm: Kernels["rmsNorm"];
  readonly layerNorm: Kernels["layerNorm"];
  readonly add: Kernels["add"];
  readonly swiglu: Kernels["swiglu"];
  readonly geglu: Kernels["geglu"];
  readonly gelu: Kernels["gelu"];
  readonly scale: Kernels["scale"];
  readonly softCap: Kernels["softCap"];
  readonly rope: Kernels["rope"];
  readonly quantizeRows: Kernels["quantizeRows"];
  readonly matvecQ8: MultiplyRow;
  readonly matvecQ4: MultiplyRow;
  readonly matvecQ3: MultiplyRow;
  readonly matvecQ2: MultiplyRow;
  matmulPacked(type: number, ...rest: Tail<Parameters<Kernels["matmulPacked"]>>): void;
  storeHalves(x: Address, count: number, to: Address): void;
  readonly storeKeyQ8: StoreHead;
  readonly storeValueQ8: StoreHead;
  readonly attentionF32: AttendHeads;
  readonly attentionF16: AttendHeads;
  readonly attentionQ8: AttendHeads;
}

type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer R] ? R : never;

/** One row of rounded activations. */
type MultiplyRow = (
  panels: Address,
  count: number,
  columns: number,
  q: Address,
  scales: Address,
  y: Address,
) => void;

/** `scratch` is for those that take x apart. */
type MultiplyPackedRow = (...given: [...Parameters<MultiplyRow>, scratch: Address]) => void;

/** What src/kernels/wasm/relaxed.as.ts exports: products of rows for some dtypes, and those of bytes. */
export interface RelaxedKernels extends Int8Kernels, Readonly<Record<string, unknown>> {
  /** Whether products of bytes are exact here; those of rows always are. */
  isExact(): number;
}

/** One position's key or value; `to` is where those of its head begin in the block. */
type StoreHead = (x: Address, headSize: number, blockPositions: number, within: number, to: Address) => void;

/** One to four heads that share keys and values, over the positions from `start` on; a cap of 0 is none. */
type AttendHeads = (
  q: Address,
  headSize: number,
  heads: number,
  blocks: Address,
  blockPositions: number,
  keyOffset: number,
  valueOffset: number,
  start: number,
  position: number,
  scale: number,
  cap: number,
  scores: Address,
  out: Address,
) => void;

/** The compiled kernels, to be shared between threads. */
export function compileKernels(): WebAssembly.Module {
  return new WebAssembly.Module(readFileSync(new URL("./kernels.wasm", import.meta.url)));
}

/** Kernels with relaxed SIMD; undefined where the engine knows none. */
export function createRelaxedKernels(memory: WebAssembly.Memory): RelaxedKernels | undefined {
  let module: WebAssembly.Module;
  try {
    module = new WebAssembly.Module(readFileSync(new URL("./relaxed.wasm", import.meta.url)));
  } catch (error) {
    // No relaxed SIMD in this engine.
    if ((error as Error).name === "CompileError") return undefined;
    throw error;
  }
  return new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as RelaxedKernels;
}

/**
 * The kernels in WebAssembly (AssemblyScript in src/kernels/wasm), with SIMD. They follow the memory as it grows.
 *
 * @param relaxed is used where it is faster and no less exact
 */
export function createWasmKernels(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  relaxed?: RelaxedKernels,
): Kernels {
  const wasm = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as Exports;
  const rowProducts = Object.fromEntries(
    PACKED_DTYPES.map((dtype) => {
      const name = `matvec${dtype.toUpperCase()}` as `matvec${Uppercase<PackedDtype>}`;
      return [dtype, (relaxed?.[name] as MultiplyPackedRow | undefined) ?? wasm[name]];
    }),
  ) as Record<PackedDtype, MultiplyPackedRow>;
  let f32 = new Float32Array(memory.buffer);
  let u32 = new Uint32Array(memory.buffer);

  return {
    matmulF32: wasm.matmulF32,
    matmulF16: wasm.matmulF16,
    matmulBf16: wasm.matmulBf16,
    rmsNorm: wasm.rmsNorm,
    layerNorm: wasm.layerNorm,
    add: wasm.add,
    swiglu: wasm.swiglu,
    geglu: wasm.geglu,
    gelu: wasm.gelu,
    scale: wasm.scale,
    softCap: wasm.softCap,
    rope: wasm.rope,
    quantizeRows: wasm.quantizeRows,

    matmulQ8: tilesThenRows(wasm.matmulQ8, wasm.matvecQ8),
    matmulQ4: tilesThenRows(wasm.matmulQ4, wasm.matvecQ4),

    matmulLow(dtype, panels, count, columns, q, scales, rows, y, yStride) {
      if (rows > 3) throw new RangeError(`${rows} rows, 3 at most`);
      const oneRow = dtype === "q3" ? wasm.matvecQ3 : wasm.matvecQ2;
      for (let row = 0; row < rows; row++) {
        const rowScales = scales + (row * columns) / 4;
        oneRow(panels, count, columns, q + row * columns * 2, rowScales, y + row * yStride * 4);
      }
    },

    matmulPacked(dtype, panels, count, columns, q, scales, rows, y, yStride, scratch) {
      const type = PACKED_DTYPES.indexOf(dtype);
      const oneRow = rowProducts[dtype];
      const tiled = rows - (rows % 4);
      if (tiled > 0) wasm.matmulPacked(type, panels, count, columns, q, scales, tiled, y, yStride, scratch);
      for (let row = tiled; row < rows; row++) {
        const rowScales = scales + (row * columns) / 4;
        oneRow(panels, count, columns, q + row * columns * 2, rowScales, y + row * yStride * 4, scratch);
      }
    },

    storeKv(keys, values, shape, blocks, position) {
      if (f32.buffer !== memory.buffer) {
        f32 = new Float32Array(memory.buffer);
        u32 = new Uint32Array(memory.buffer);
      }
      const { headSize, blockPositions, kvType } = shape;
      const within = position % blockPositions;
      const block = u32[blocks / 4 + (position - within) / blockPositions];
      for (let head = 0; head < shape.kvHeads; head++) {
        const key = block + keyOffset(shape, head);
        const value = key + valueDistance(shape);
        const from = head * headSize * 4;
        if (kvType === "q8") {
          wasm.storeKeyQ8(keys + from, headSize, blockPositions, within, key);
          wasm.storeValueQ8(values + from, headSize, blockPositions, within, value);
        } else if (kvType === "f16") {
          wasm.storeHalves(keys + from, headSize, key + within * headSize * 2);
          wasm.storeHalves(values + from, headSize, value + within * headSize * 2);
        } else {
          const at = within * headSize;
          f32.copyWithin(key / 4 + at, (keys + from) / 4, (keys + from) / 4 + headSize);
          f32.copyWithin(value / 4 + at, (values + from) / 4, (values + from) / 4 + headSize);
        }
      }
    },

    attention(q, shape, blocks, position, firstHead, endHead, scratch, out) {
      const { heads, kvHeads, headSize, blockPositions, kvType, cap = 0, window = position + 1 } = shape;
      const { scale = 1 / Math.sqrt(headSize) } = shape;
      const start = Math.max(0, position + 1 - window);
      const attend = { f32: wasm.attentionF32, f16: wasm.attentionF16, q8: wasm.attentionQ8 }[kvType];
      for (let head = firstHead; head < endHead; ) {
        const kvHead = Math.floor((head * kvHeads) / heads);
        const key = keyOffset(shape, kvHead);
        const value = key + valueDistance(shape);
        const at = head * headSize * 4;
        const count = headsTogether(Math.min(endHead, ((kvHead + 1) * heads) / kvHeads) - head);
        const cache = [blocks, blockPositions, key, value] as const;
        attend(q + at, headSize, count, ...cache, start, position, scale, cap, scratch, out + at);
        head += count;
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
      const rowScales = scales + (row * columns) / 4;
      oneRow(panels, count, columns, q + row * columns * 2, rowScales, y + row * yStride * 4);
    }
  };
}

/** Of so many heads that share keys and values, how many are computed at once: two cost as much as four. */
function headsTogether(heads: number): number {
  return heads > 2 ? Math.min(4, heads) : 1;
}
