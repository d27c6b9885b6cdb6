import { describe, expect, it } from "vitest";
import type { Kernels } from "../../src/kernels/types.ts";
import { createRelaxedKernels } from "../../src/kernels/wasm.ts";
import { f16ToF32, f32ToBf16, f32ToF16 } from "../../src/quant/half.ts";
import { blockFormat } from "../../src/quant/index.ts";
import { quantizeQ8_0 } from "../../src/quant/q8_0.ts";
import { writeLowRow } from "../../src/store/low-panel.ts";
import { packPanels } from "../../src/store/pack-panels.ts";
import { isPacked, PACKED_DTYPES, packedScratchBytes } from "../../src/store/packed-panel.ts";
import { columnsUnit, panelBytes, panelCount } from "../../src/store/panel.ts";
import { readPanelRow } from "../../src/store/panel-row.ts";
import type { QuantizedDtype, TensorDtype } from "../../src/store/types.ts";
import { randomBlocks } from "../packed-blocks.ts";
import { randomFloats, seeded } from "../random.ts";
import { machine } from "./machine.ts";

const FLOAT_PRODUCTS = { f32: "matmulF32", f16: "matmulF16", bf16: "matmulBf16" } as const;

/** y = W x for a quantized matrix of any dtype; `scratch` is needed for packed ones. */
function multiply(kernels: Kernels, dtype: QuantizedDtype, scratch: number): Kernels["matmulQ8"] {
  if (isPacked(dtype)) return (...given) => kernels.matmulPacked(dtype, ...given, scratch);
  return kernels[dtype === "q8" ? "matmulQ8" : "matmulQ4"];
}

/** Panels of a matrix as ggml holds it, and the weights that they stand for. */
function matrixOf(dtype: TensorDtype, bytes: Uint8Array, rows: number, columns: number) {
  const weights = new Float32Array(rows * columns);
  blockFormat({ q8: "q8_0", q4: "q4_0" }[dtype as string] ?? dtype).dequantize(
    bytes,
    weights,
    weights.length,
  );
  const panels = new Uint8Array(panelCount(rows) * panelBytes(dtype, columns)).fill(9);
  packPanels(dtype, bytes, rows, columns, panels);
  return { panels, weights };
}

function randomMatrix(dtype: TensorDtype, rows: number, columns: number, random: () => number) {
  const values = randomFloats(rows * columns, random);
  if (dtype === "f32") return matrixOf(dtype, new Uint8Array(values.buffer), rows, columns);
  if (dtype === "f16" || dtype === "bf16") {
    const halves = Uint16Array.from(values, dtype === "f16" ? f32ToF16 : f32ToBf16);
    return matrixOf(dtype, new Uint8Array(halves.buffer), rows, columns);
  }
  if (isPacked(dtype)) return matrixOf(dtype, randomBlocks(dtype, rows * columns, random), rows, columns);
  const blocks = new Uint8Array((rows * columns * (dtype === "q8" ? 34 : 18)) / 32);
  if (dtype === "q8") quantizeQ8_0(values, blocks, values.length);
  else for (let i = 0; i < blocks.length; i++) blocks[i] = i % 18 === 1 ? 0x2c + (i % 3) : random() * 256;
  return matrixOf(dtype, blocks, rows, columns);
}

function product(w: Float32Array, x: Float32Array, rows: number, columns: number, row: number): number[] {
  return Array.from({ length: rows }, (_, r) => {
    let sum = 0;
    for (let c = 0; c < columns; c++) sum += w[r * columns + c] * x[row * columns + c];
    return sum;
  });
}

/** Root mean square of the differences relative to that of what is right. */
function relativeError(got: ArrayLike<number>, want: readonly number[]): number {
  let error = 0;
  let power = 0;
  for (const [i, value] of want.entries()) {
    error += (got[i] - value) ** 2;
    power += value ** 2;
  }
  return Math.sqrt(error / power);
}

const relaxed = createRelaxedKernels(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }));
const KERNELS = ["reference", "wasm", ...(relaxed ? (["relaxed"] as const) : [])] as const;

describe.each(KERNELS)("%s kernels", (which) => {
  const random = seeded(1);

  describe.each(["f32", "f16", "bf16"] as const)("%s product", (dtype) => {
    it.each([
      [1, 1, 1],
      [4, 32, 1],
      [7, 5, 3],
      [64, 172, 2],
      [33, 96, 5],
      [12, 77, 4],
      [9, 2048, 70],
    ])("%i x %i with %i rows", (rows, columns, count) => {
      const { kernels, place, floats } = machine(which);
      const { panels, weights } = randomMatrix(dtype, rows, columns, random);
      const x = randomFloats(count * columns, random);
      const stride = panelCount(rows) * 4;
      const [w, from, y, parts] = [
        place(panels),
        place(x),
        place(new Float32Array(count * stride)),
        place(new Float32Array(count * stride)),
      ];
      kernels[FLOAT_PRODUCTS[dtype]](w, panelCount(rows), columns, from, count, y, stride);
      for (let row = 0; row < count; row++) {
        const got = floats(y + row * stride * 4, stride);
        expect(relativeError(got, product(weights, x, rows, columns, row))).toBeLessThan(5e-6);
        expect([...got.subarray(rows)]).toEqual(Array(stride - rows).fill(0));
      }
      // Panel by panel: to the bit the same, so that threads may share them.
      for (let panel = 0; panel < panelCount(rows); panel++) {
        const at = w + panel * panelBytes(dtype, columns);
        kernels[FLOAT_PRODUCTS[dtype]](at, 1, columns, from, count, parts + panel * 16, stride);
      }
      expect(floats(parts, count * stride)).toEqual(floats(y, count * stride));
    });
  });

  it.each([1, 4, 6])("f16 weights may be denormal, infinite or NaN, with %i rows", (count) => {
    const columns = 41;
    const special = [0, 0x8000, 1, 0x83ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfc01];
    for (const column of [0, 7, 31, 32, 40]) {
      const { kernels, place, floats } = machine(which);
      for (let first = 0; first < special.length; first += 4) {
        const halves = new Uint16Array(4 * columns).fill(0x3c00);
        for (let row = 0; row < 4; row++)
          halves[row * columns + column] = special[(first + row) % special.length];
        const { panels, weights } = matrixOf("f16", new Uint8Array(halves.buffer), 4, columns);
        const values = new Float32Array(count * columns).fill(2 ** -20);
        const y = place(new Float32Array(4 * count));
        kernels.matmulF16(place(panels), 1, columns, place(values), count, y, 4);
        const want = product(weights, values, 4, columns, 0);
        for (let row = 0; row < count; row++)
          for (const [lane, value] of floats(y + row * 16, 4).entries()) {
            if (Number.isFinite(want[lane]))
              expect(Math.abs(value - want[lane])).toBeLessThan(1e-6 * Math.abs(want[lane]));
            else expect(value).toBe(want[lane]);
          }
      }
    }
  });

  describe.each(["q8", "q4", ...PACKED_DTYPES] as const)("%s product", (dtype) => {
    const unit = columnsUnit(dtype);
    it.each([
      [3, unit, 1],
      [6, Math.max(64, unit), 3],
      [64, 6 * unit, 4],
      [64, 5 * unit, 11],
      [12, 2048, 66],
    ])("%i x %i with %i rows, activations rounded to 16 bits", (rows, columns, count) => {
      const { kernels, place, floats } = machine(which);
      const { panels, weights } = randomMatrix(dtype, rows, columns, random);
      const values = randomFloats(count * columns, random);
      const [x, q] = [place(values), place(new Uint8Array(count * columns * 2))];
      const scales = place(new Float32Array((count * columns) / 16));
      const scratch = place(new Uint8Array(packedScratchBytes(columns)));
      // In pieces, as threads share it.
      const cut = Math.min(count, 4);
      kernels.quantizeRows(x, count, columns, 0, cut, 0, columns, q, scales);
      kernels.quantizeRows(x, count, columns, cut, count, 0, 32, q, scales);
      kernels.quantizeRows(x, count, columns, cut, count, 32, columns, q, scales);
      const stride = panelCount(rows) * 4;
      const [w, y, parts] = [
        place(panels),
        place(new Float32Array(count * stride)),
        place(new Float32Array(count * stride)),
      ];
      const times = multiply(kernels, dtype, scratch);
      times(w, panelCount(rows), columns, q, scales, count, y, stride);
      for (let row = 0; row < count; row++) {
        const want = product(weights, values, rows, columns, row);
        expect(relativeError(floats(y + row * stride * 4, rows), want)).toBeLessThan(1e-4);
      }
      for (let panel = 0; panel < panelCount(rows); panel++) {
        const at = w + panel * panelBytes(dtype, columns);
        times(at, 1, columns, q, scales, count, parts + panel * 16, stride);
      }
      expect(floats(parts, count * stride)).toEqual(floats(y, count * stride));
    });
  });

  it.each(["q3", "q2"] as const)("%s product, of rows one by one", (dtype) => {
    for (const [rows, columns, count] of [
      [4, 32, 1],
      [12, 96, 3],
      [8, 2048, 2],
    ]) {
      const { kernels, place, floats } = machine(which);
      const values = randomFloats(count * columns, random);
      const panels = new Uint8Array((rows / 4) * panelBytes(dtype, columns));
      const weights = new Float32Array(rows * columns);
      for (let row = 0; row < rows; row++) {
        const panel = panels.subarray(Math.floor(row / 4) * panelBytes(dtype, columns));
        const own = panel.subarray(0, panelBytes(dtype, columns));
        // One row is of denormal scales.
        const scale = row === 1 ? 1e-6 : 1;
        writeLowRow(
          dtype,
          randomFloats(columns, random).map((value) => value * scale),
          own,
          row % 4,
        );
        readPanelRow(dtype, own, row % 4, weights.subarray(row * columns, (row + 1) * columns));
      }
      const [x, q] = [place(values), place(new Uint8Array(count * columns * 2))];
      const scales = place(new Float32Array((count * columns) / 16));
      kernels.quantizeRows(x, count, columns, 0, count, 0, columns, q, scales);
      const [w, y] = [place(panels), place(new Float32Array(count * rows))];
      kernels.matmulLow(dtype, w, rows / 4, columns, q, scales, count, y, rows);
      for (let row = 0; row < count; row++) {
        const want = product(weights, values, rows, columns, row);
        const got = floats(y + row * rows * 4, rows);
        expect(relativeError(got, want)).toBeLessThan(1e-4);
        expect(Math.abs(got[1] - want[1])).toBeLessThan(1e-3 * Math.abs(want[1]) + 1e-9);
      }
    }
  });

  describe.each(["q8", "q4"] as const)("%s product", (dtype) => {
    it.each([
      ["denormal", [3, 0], f16ToF32(3)],
      ["infinite", [0, 0x7c], Number.POSITIVE_INFINITY],
      ["NaN", [1, 0x7c], Number.NaN],
      ["zero", [0, 0], 0],
    ])("scales may be %s", (_, scale, value) => {
      const { kernels, place, floats } = machine(which);
      // All weights are 1.
      const blocks = new Uint8Array(dtype === "q8" ? 34 : 18).fill(dtype === "q8" ? 1 : 0x99);
      blocks.set(scale);
      const { panels } = matrixOf(dtype, blocks, 1, 32);
      for (const rows of [1, 4]) {
        const x = place(new Float32Array(32 * rows).fill(0.5));
        const [q, scales] = [place(new Uint8Array(64 * rows)), place(new Float32Array(2 * rows))];
        const y = place(new Float32Array(4 * rows));
        kernels.quantizeRows(x, rows, 32, 0, rows, 0, 32, q, scales);
        multiply(kernels, dtype, 0)(place(panels), 1, 32, q, scales, rows, y, 4);
        if (Number.isFinite(value)) expect(floats(y, 1)[0]).toBeCloseTo(16 * value, 12);
        else expect(floats(y, 1)[0]).toBe(value);
      }
    });
  });

  it.each(["q8", "q4", "q4_1"] as const)("%s takes every float16 as a scale", (dtype) => {
    const { kernels, place, floats } = machine(which);
    const rows = 65536;
    const blockBytes = { q8: 34, q4: 18, q4_1: 20 }[dtype];
    const blocks = new Uint8Array(rows * blockBytes).fill(dtype === "q8" ? 1 : dtype === "q4" ? 0x99 : 0x11);
    for (let half = 0; half < rows; half++)
      blocks.set([half & 255, half >> 8, 0, 0].slice(0, dtype === "q4_1" ? 4 : 2), half * blockBytes);
    const { panels } = matrixOf(dtype, blocks, rows, 32);
    const x = place(new Float32Array(32).fill(0.5));
    const [q, scales, y] = [
      place(new Uint8Array(64)),
      place(new Float32Array(2)),
      place(new Float32Array(rows)),
    ];
    kernels.quantizeRows(x, 1, 32, 0, 1, 0, 32, q, scales);
    const scratch = place(new Uint8Array(4096));
    multiply(kernels, dtype, scratch)(place(panels), rows / 4, 32, q, scales, 1, y, rows);
    const wrong = [...floats(y, rows)].filter((value, half) => {
      const want = 16 * f16ToF32(half);
      return Number.isFinite(want) ? Math.abs(value - want) > 1e-6 * Math.abs(want) : !Object.is(value, want);
    });
    expect(wrong).toEqual([]);
  });

  it("a row of zeros stays zero, and a NaN does not hide", () => {
    const { kernels, place, floats } = machine(which);
    const { panels } = randomMatrix("q8", 4, 32, random);
    const [q, scales, y] = [
      place(new Uint8Array(64)),
      place(new Float32Array(2)),
      place(new Float32Array(4)),
    ];
    const address = place(panels);
    kernels.quantizeRows(place(new Float32Array(32)), 1, 32, 0, 1, 0, 32, q, scales);
    kernels.matmulQ8(address, 1, 32, q, scales, 1, y, 4);
    expect([...floats(y, 4)]).toEqual([0, 0, 0, 0]);
    const broken = new Float32Array(32).fill(1);
    broken[7] = Number.NaN;
    kernels.quantizeRows(place(broken), 1, 32, 0, 1, 0, 32, q, scales);
    kernels.matmulQ8(address, 1, 32, q, scales, 1, y, 4);
    expect([...floats(y, 4)]).toEqual([NaN, NaN, NaN, NaN]);
  });

  it.each([3, 4, 64, 101])("rmsNorm of %i values divides by the root of the mean square", (width) => {
    const { kernels, place, floats } = machine(which);
    const [x, weight] = [randomFloats(width, random), randomFloats(width, random)];
    const y = place(new Float32Array(width));
    kernels.rmsNorm(place(x), place(weight), width, 1e-6, y);
    const root = Math.sqrt(x.reduce((sum, value) => sum + value * value, 0) / width + 1e-6);
    const want = Array.from(x, (value, i) => (value / root) * weight[i]);
    expect(relativeError(floats(y, width), want)).toBeLessThan(2e-7);
  });

  it.each([1, 4, 6, 64, 101])("swiglu of %i values reads gate and up by panels of four", (count) => {
    const { kernels, place, floats } = machine(which);
    const gates = randomFloats(count, random).map((value) => value * 30);
    const ups = randomFloats(count, random);
    const gateUp = new Float32Array(Math.ceil(count / 4) * 8);
    for (let i = 0; i < count; i++) {
      gateUp[(i - (i % 4)) * 2 + (i % 4)] = gates[i];
      gateUp[(i - (i % 4)) * 2 + (i % 4) + 4] = ups[i];
    }
    const y = place(new Float32Array(count + 1).fill(7));
    kernels.swiglu(place(gateUp), count, y);
    const got = floats(y, count + 1);
    for (let i = 0; i < count; i++) {
      const want = (gates[i] / (1 + Math.exp(-gates[i]))) * ups[i];
      expect(Math.abs(got[i] - want)).toBeLessThanOrEqual(4e-7 * Math.abs(want) + 1e-30);
    }
    expect(got[count]).toBe(7);
  });

  it("swiglu of extreme gates", () => {
    const { kernels, place, floats } = machine(which);
    const y = place(new Float32Array(4));
    kernels.swiglu(place(new Float32Array([1000, -1000, 0, 88.7, 1, 1, 1, 1])), 4, y);
    const [large, small, zero, edge] = floats(y, 4);
    expect([large, zero, edge]).toEqual([1000, 0, Math.fround(88.7)]);
    expect(Math.abs(small)).toBeLessThan(1e-30);
  });

  it.each([1, 3, 64, 101])("layerNorm of %i values takes away their mean", (width) => {
    const { kernels, place, floats } = machine(which);
    const [x, weight] = [
      randomFloats(width, random).map((value) => value + 100),
      randomFloats(width, random),
    ];
    const y = place(new Float32Array(width + 1).fill(7));
    kernels.layerNorm(place(x), place(weight), width, 1e-5, y);
    const mean = x.reduce((sum, value) => sum + value, 0) / width;
    const variance = Array.from(x, (value) => (value - mean) ** 2).reduce((a, b) => a + b) / width;
    const got = floats(y, width + 1);
    for (let i = 0; i < width; i++) {
      const want = ((x[i] - mean) / Math.sqrt(variance + 1e-5)) * weight[i];
      expect(Math.abs(got[i] - want)).toBeLessThanOrEqual(3e-7 * Math.abs(want) + 1e-12);
    }
    expect(got[width]).toBe(7);
  });

  it.each([1, 4, 6, 101])("gelu and geglu of %i values go through float16 between -10 and 10", (count) => {
    const { kernels, place, floats } = machine(which);
    const special = [0, -0, 1e-6, -3e-5, 10, -10, 12, -12, 9.999, -9.999];
    const x = randomFloats(count, random).map((value, i) => (i % 3 === 0 ? special[i % 10] : value * 12));
    const gateUp = new Float32Array(Math.ceil(count / 4) * 8);
    for (let i = 0; i < count; i++) {
      gateUp[(i - (i % 4)) * 2 + (i % 4)] = x[i];
      gateUp[(i - (i % 4)) * 2 + (i % 4) + 4] = 3;
    }
    const [plain, gated] = [place(new Float32Array(count + 1)), place(new Float32Array(count + 1))];
    kernels.gelu(place(x), count, plain);
    kernels.geglu(place(gateUp), count, gated);
    const half = (value: number) => f16ToF32(f32ToF16(Math.fround(value)));
    const [alone, withUp] = [floats(plain, count + 1), floats(gated, count + 1)];
    for (let i = 0; i < count; i++) {
      const v = half(x[i]);
      const exact = 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3)));
      const want = Math.abs(x[i]) >= 10 ? Math.max(0, x[i]) : half(exact);
      // Half a step of float16 away from the exact value, at most.
      expect(Math.abs(alone[i] - want)).toBeLessThanOrEqual(Math.abs(want) * 2 ** -10 + 2 ** -24);
      expect(half(alone[i])).toBe(Math.abs(x[i]) >= 10 ? half(want) : alone[i]);
      expect(withUp[i]).toBeCloseTo(alone[i] * 3, 5);
    }
    expect([alone[count], withUp[count]]).toEqual([0, 0]);
  });

  it("scale multiplies, softCap bends", () => {
    const { kernels, place, floats } = machine(which);
    const values = [0, 1, -2, 30, -1000, 1e-3];
    const x = place(Float32Array.from(values));
    kernels.scale(x, 0.5, 5);
    expect([...floats(x, 6)]).toEqual([0, 0.5, -1, 15, -500, Math.fround(1e-3)]);
    const y = place(Float32Array.from(values));
    kernels.softCap(y, 20, 6);
    for (const [i, value] of floats(y, 6).entries())
      expect(Math.abs(value - 20 * Math.tanh(values[i] / 20))).toBeLessThan(5e-6);
  });

  it("rope turns neighbouring pairs and leaves the rest of the head alone", () => {
    const { kernels, place, floats } = machine(which);
    const x = place(new Float32Array([1, 0, 5, 6, 0, 1, 7, 8]));
    kernels.rope(x, 2, 4, place(new Float32Array([Math.cos(0.3), Math.sin(0.3)])), 2, false);
    const [cos, sin] = [Math.fround(Math.cos(0.3)), Math.fround(Math.sin(0.3))];
    expect([...floats(x, 8)]).toEqual([cos, sin, 5, 6, -sin, cos, 7, 8]);
  });

  it("rope turns pairs that lie half the rotated values apart", () => {
    const { kernels, place, floats } = machine(which);
    const x = place(new Float32Array([1, 2, 0, 0, 9, 0, 0, 3, 4, 9]));
    const angles = [0.3, 0.7].flatMap((angle) => [Math.cos(angle), Math.sin(angle)]);
    kernels.rope(x, 2, 5, place(new Float32Array(angles)), 4, true);
    const [c0, s0, c1, s1] = angles.map(Math.fround);
    const want = [c0, 2 * c1, s0, 2 * s1, 9, -3 * s0, -4 * s1, 3 * c0, 4 * c1, 9].map(Math.fround);
    expect([...floats(x, 10)]).toEqual(want);
  });

  it("add adds", () => {
    const { kernels, place, floats } = machine(which);
    const y = place(new Float32Array([1, 2, 3, 4, 5]));
    kernels.add(place(new Float32Array([10, 20, 30, 40, 50])), y, 5);
    expect([...floats(y, 5)]).toEqual([11, 22, 33, 44, 55]);
  });
});

// Node.js 20 has no relaxed SIMD, and not every processor has the instruction.
describe.runIf(relaxed?.isExact())("kernels for 8-bit activations", () => {
  const random = seeded(9);

  it.each([
    [4, 32, 4],
    [12, 160, 8],
    [20, 2048, 68],
  ])("q8 product: %i x %i with %i rows", (rows, columns, count) => {
    const { memory, place, floats } = machine("wasm");
    const kernels = createRelaxedKernels(memory)!;
    const { panels, weights } = randomMatrix("q8", rows, columns, random);
    const values = randomFloats(count * columns, random);
    if (columns > 32) values.fill(0, 0, 32);
    const [x, q] = [place(values), place(new Uint8Array(count * columns))];
    const [scales, sums] = [0, 1].map(() => place(new Float32Array((count * columns) / 32)));
    kernels.quantizeTiles(x, columns, 0, 4, q, scales, sums);
    kernels.quantizeTiles(x, columns, 4, count, q, scales, sums);
    const stride = panelCount(rows) * 4;
    const [y, parts] = [0, 1].map(() => place(new Float32Array(count * stride)));
    const w = place(panels);
    kernels.matmulQ8(w, panelCount(rows), columns, q, scales, sums, count, y, stride);
    for (let row = 0; row < count; row++) {
      const want = product(weights, values, rows, columns, row);
      expect(relativeError(floats(y + row * stride * 4, rows), want)).toBeLessThan(2e-2);
    }
    // Panel by panel: to the bit the same, so that threads may share them.
    for (let panel = 0; panel < panelCount(rows); panel++)
      kernels.matmulQ8(
        w + panel * panelBytes("q8", columns),
        1,
        columns,
        q,
        scales,
        sums,
        count,
        parts + panel * 16,
        stride,
      );
    expect(floats(parts, count * stride)).toEqual(floats(y, count * stride));
  });
});
