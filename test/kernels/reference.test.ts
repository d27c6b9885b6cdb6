import { describe, expect, it } from "vitest";
import { createReferenceKernels } from "../../src/kernels/reference.ts";
import { f16ToF32 } from "../../src/quant/half.ts";
import { blockFormat } from "../../src/quant/index.ts";
import { quantizeQ8_0 } from "../../src/quant/q8_0.ts";
import { packPanelsF32, packPanelsQ8, panelBytes, panelCount } from "../../src/store/panel.ts";
import { randomFloats, seeded } from "../random.ts";

/** A memory to compute in, with a bump allocator of floats. */
function machine(bytes = 1 << 20) {
  const buffer = new ArrayBuffer(bytes);
  let used = 64;
  const place = (data: Float32Array | Uint8Array | Uint32Array) => {
    const address = used;
    const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    new Uint8Array(buffer, address).set(raw);
    used = Math.ceil((used + data.byteLength) / 64) * 64;
    return address;
  };
  const floats = (address: number, length: number) => new Float32Array(buffer, address, length);
  return { kernels: createReferenceKernels(buffer), place, floats };
}

function naiveProduct(
  w: Float32Array,
  x: Float32Array,
  rows: number,
  columns: number,
  row: number,
): number[] {
  return Array.from({ length: rows }, (_, r) => {
    let sum = 0;
    for (let c = 0; c < columns; c++) sum += w[r * columns + c] * x[row * columns + c];
    return sum;
  });
}

describe("matrix products", () => {
  const random = seeded(1);
  it.each([
    [1, 1, 1],
    [4, 32, 1],
    [7, 5, 3],
    [64, 172, 2],
    [33, 96, 5],
  ])("f32, %i x %i, %i rows", (rows, columns, count) => {
    const { kernels, place, floats } = machine();
    const w = randomFloats(rows * columns, random);
    const x = randomFloats(count * columns, random);
    const panels = new Float32Array(panelCount(rows) * 4 * columns).fill(9);
    packPanelsF32(w, rows, columns, panels);
    const stride = panelCount(rows) * 4;
    const y = place(new Float32Array(count * stride));
    kernels.matmulF32(place(panels), panelCount(rows), columns, place(x), count, y, stride);
    for (let row = 0; row < count; row++) {
      const got = floats(y + row * stride * 4, stride);
      for (const [r, want] of naiveProduct(w, x, rows, columns, row).entries())
        expect(got[r]).toBeCloseTo(want, 5);
      expect([...got.subarray(rows)]).toEqual(Array(stride - rows).fill(0));
    }
  });

  it.each([
    [1, 32, 1],
    [6, 64, 3],
    [64, 192, 2],
  ])("q8, %i x %i, %i rows, is exact in the weights", (rows, columns, count) => {
    const { kernels, place, floats } = machine();
    const blocks = new Uint8Array((rows * columns * 34) / 32);
    quantizeQ8_0(randomFloats(rows * columns, random), blocks, rows * columns);
    const w = new Float32Array(rows * columns);
    blockFormat("q8_0").dequantize(blocks, w, w.length);
    const x = randomFloats(count * columns, random);
    const panels = new Uint8Array(panelCount(rows) * panelBytes("q8", columns));
    packPanelsQ8(blocks, rows, columns, panels);
    const stride = panelCount(rows) * 4;
    const y = place(new Float32Array(count * stride));
    kernels.matmulQ8(place(panels), panelCount(rows), columns, place(x), count, y, stride);
    for (let row = 0; row < count; row++)
      for (const [r, want] of naiveProduct(w, x, rows, columns, row).entries())
        expect(floats(y + row * stride * 4, stride)[r]).toBeCloseTo(want, 5);
  });

  it("q8 keeps denormal scales", () => {
    const { kernels, place, floats } = machine();
    const blocks = new Uint8Array(34).fill(1);
    blocks[0] = 3; // scale 0x0003: a denormal half
    blocks[1] = 0;
    const panels = new Uint8Array(panelBytes("q8", 32));
    packPanelsQ8(blocks, 1, 32, panels);
    const y = place(new Float32Array(4));
    kernels.matmulQ8(place(panels), 1, 32, place(new Float32Array(32).fill(1)), 1, y, 4);
    expect(floats(y, 4)[0]).toBe(32 * f16ToF32(3));
  });
});

describe("the smaller kernels", () => {
  const random = seeded(2);

  it("rmsNorm divides by the root of the mean square", () => {
    const { kernels, place, floats } = machine();
    const y = place(new Float32Array(3));
    kernels.rmsNorm(place(new Float32Array([3, 4, 0])), place(new Float32Array([1, 2, 5])), 3, 1e-6, y);
    const root = Math.sqrt(25 / 3 + 1e-6);
    expect([...floats(y, 3)]).toEqual([3 / root, 8 / root, 0].map(Math.fround));
  });

  it("swiglu reads gate and up by panels of four", () => {
    const { kernels, place, floats } = machine();
    const y = place(new Float32Array(6));
    const gateUp = new Float32Array([1, -1, 20, -200, 2, 2, 2, 2, 0.5, 0.25, 0, 0, 3, 4, 0, 0]);
    kernels.swiglu(place(gateUp), 6, y);
    const silu = (v: number) => v / (1 + Math.exp(-v));
    const want = [silu(1) * 2, silu(-1) * 2, silu(20) * 2, silu(-200) * 2, silu(0.5) * 3, silu(0.25) * 4];
    expect([...floats(y, 6)]).toEqual(want.map(Math.fround));
  });

  it("rope turns neighbouring pairs and leaves the rest of the head alone", () => {
    const { kernels, place, floats } = machine();
    const x = place(new Float32Array([1, 0, 5, 6, 0, 1, 7, 8]));
    kernels.rope(x, 2, 4, place(new Float32Array([Math.cos(0.3), Math.sin(0.3)])), 2);
    const [cos, sin] = [Math.fround(Math.cos(0.3)), Math.fround(Math.sin(0.3))];
    expect([...floats(x, 8)]).toEqual([cos, sin, 5, 6, -sin, cos, 7, 8]);
  });

  it.each([0, 1, 6, 7, 8, 29])("attention equals a plain softmax, at position %i", (position) => {
    const { kernels, place, floats } = machine();
    const [heads, kvHeads, headSize, blockPositions] = [4, 2, 8, 8];
    const blockFloats = 2 * kvHeads * blockPositions * headSize + 16;
    const shape = { heads, kvHeads, headSize, blockPositions, layerOffset: 64 };
    // Blocks lie in no order, as after growing and cutting back.
    const addresses = Array.from({ length: 4 }, () => place(new Float32Array(blockFloats))).reverse();
    const blocks = place(Uint32Array.from(addresses));
    const keys = Array.from({ length: position + 1 }, () => randomFloats(kvHeads * headSize, random));
    const values = keys.map(() => randomFloats(kvHeads * headSize, random));
    for (const [p, key] of keys.entries()) kernels.storeKv(place(key), place(values[p]), shape, blocks, p);
    const q = randomFloats(heads * headSize, random).map((value) => value * 20);
    const [query, out] = [place(q), place(new Float32Array(heads * headSize))];
    kernels.attention(query, shape, blocks, position, 0, 3, out);
    kernels.attention(query, shape, blocks, position, 3, 4, out);

    for (let head = 0; head < heads; head++) {
      const kv = Math.floor(head / 2) * headSize;
      const scores = keys.map((key) => {
        let dot = 0;
        for (let i = 0; i < headSize; i++) dot += q[head * headSize + i] * key[kv + i];
        return Math.exp(dot / Math.sqrt(headSize));
      });
      const total = scores.reduce((a, b) => a + b);
      for (let i = 0; i < headSize; i++) {
        const want = values.reduce((sum, value, p) => sum + (scores[p] / total) * value[kv + i], 0);
        expect(floats(out, heads * headSize)[head * headSize + i]).toBeCloseTo(want, 5);
      }
    }
  });
});
