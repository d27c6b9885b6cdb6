import { describe, expect, test } from "vitest";
import { blockFormat } from "../../src/quant/index.ts";
import { packPanels } from "../../src/store/pack-panels.ts";
import { PACKED_DTYPES } from "../../src/store/packed-panel.ts";
import { panelBytes, panelCount } from "../../src/store/panel.ts";
import { readPanelRow } from "../../src/store/panel-row.ts";
import type { TensorDtype } from "../../src/store/types.ts";
import { randomBlocks } from "../packed-blocks.ts";
import { seeded } from "../random.ts";

const shapes = [
  [1, 32],
  [4, 64],
  [7, 96],
  [12, 2048],
] as const;

/** Bytes that differ from their neighbours, and panels of them. */
function pack(dtype: TensorDtype, rows: number, columns: number, rowBytes: number) {
  const source = Uint8Array.from({ length: rows * rowBytes }, (_, i) => (i * 31 + (i >> 7)) & 255);
  const panels = new Uint8Array(panelCount(rows) * panelBytes(dtype, columns)).fill(255);
  packPanels(dtype, source, rows, columns, panels);
  return { source, panels };
}

describe.each([
  ["f32", 4],
  ["f16", 2],
  ["bf16", 2],
] as const)("%s", (dtype, size) => {
  test.each([...shapes, [4, 5] as const, [6, 7] as const])(
    "panels of %i rows of %i: every byte is in place, the rest is zero",
    (rows, columns) => {
      const { source, panels } = pack(dtype, rows, columns, columns * size);
      for (let row = 0; row < panelCount(rows) * 4; row++) {
        for (let byte = 0; byte < columns * size; byte++) {
          const column = Math.floor(byte / size);
          const value = (Math.floor(row / 4) * columns + column) * 4 + (row % 4);
          const found = panels[value * size + (byte % size)];
          if (found !== (row < rows ? source[row * columns * size + byte] : 0))
            expect([row, byte, found]).toBeNull();
        }
      }
    },
  );
});

describe.each(shapes)("panels of %i rows of %i", (rows, columns) => {
  const blocks = columns / 32;

  test.each([
    ["q8", 34, 136, 0],
    // Weights from -8 to 7 instead of from 0 to 15.
    ["q4", 18, 72, 0x88],
  ] as const)(
    "%s: every byte and scale is where the layout says, the rest is zero",
    (dtype, size, blockBytes, flipped) => {
      const { source, panels } = pack(dtype, rows, columns, blocks * size);
      expect(panels.length).toBe(panelCount(rows) * blocks * blockBytes);
      for (let row = 0; row < panelCount(rows) * 4; row++) {
        const lane = row % 4;
        for (let block = 0; block < blocks; block++) {
          const from = (row * blocks + block) * size;
          const at = (Math.floor(row / 4) * blocks + block) * blockBytes;
          const check = (offset: number, found: number, flipped = 0) => {
            if (found !== (row < rows ? source[from + offset] ^ flipped : 0))
              expect([row, block, offset]).toBeNull();
          };
          // Q4_0 too has the weights of columns 4q to 4q + 3 in four bytes that follow each other.
          for (let byte = 0; byte < size - 2; byte++)
            check(2 + byte, panels[at + Math.floor(byte / 4) * 16 + lane * 4 + (byte % 4)], flipped);
          for (const byte of [0, 1]) check(byte, panels[at + blockBytes - 8 + lane * 2 + byte]);
        }
      }
    },
  );
});

test("a row of a panel comes back as the values that it stands for", () => {
  const columns = 64;
  const target = new Float32Array(columns);
  const f32 = Float32Array.from({ length: 4 * columns }, (_, i) => i / 7);
  const f16 = Uint16Array.from({ length: 4 * columns }, (_, i) => i * 251);
  const bytes = (values: Float32Array | Uint16Array) => new Uint8Array(values.buffer);
  const q8 = new Uint8Array(4 * 2 * 34).map((_, i) => (i % 34 === 1 ? 0x3c : i % 34 === 0 ? 0 : i));
  const q4 = new Uint8Array(4 * 2 * 18).map((_, i) => (i % 18 === 1 ? 0x40 : i % 18 === 0 ? 0 : i * 37));
  const wanted: [TensorDtype, Uint8Array, (row: number, column: number) => number][] = [
    ["f32", bytes(f32), (row, column) => f32[row * columns + column]],
    ["f16", bytes(f16), (row, column) => half(f16[row * columns + column])],
    [
      "bf16",
      bytes(f16),
      (row, column) => new Float32Array(Uint32Array.of(f16[row * columns + column] << 16).buffer)[0],
    ],
    ["q8", q8, (row, column) => (q8[(row * 2 + (column >> 5)) * 34 + 2 + (column & 31)] << 24) >> 24],
    [
      "q4",
      q4,
      (row, column) => {
        const pair = q4[(row * 2 + (column >> 5)) * 18 + 2 + (column & 15)];
        return 2 * ((column & 16 ? pair >> 4 : pair & 15) - 8);
      },
    ],
  ];
  for (const [dtype, rows, value] of wanted) {
    const panel = new Uint8Array(panelBytes(dtype, columns));
    packPanels(dtype, rows, 4, columns, panel);
    for (let row = 0; row < 4; row++) {
      readPanelRow(dtype, panel, row, target);
      for (let column = 0; column < columns; column++)
        expect(target[column], `${dtype} ${row} ${column}`).toBe(value(row, column));
    }
  }
});

test.each(PACKED_DTYPES)("%s: rows come back as they are dequantized, to the bit", (dtype) => {
  const random = seeded(7);
  const [rows, columns] = [7, 768];
  const blocks = randomBlocks(dtype, rows * columns, random);
  const want = new Float32Array(rows * columns);
  blockFormat(dtype).dequantize(blocks, want, want.length);
  const size = panelBytes(dtype, columns);
  expect(size).toBe((blocks.length / rows) * 4);
  const panels = new Uint8Array(panelCount(rows) * size).fill(255);
  packPanels(dtype, blocks, rows, columns, panels);
  const row = new Float32Array(columns);
  for (let i = 0; i < rows; i++) {
    readPanelRow(dtype, panels.subarray((i >> 2) * size, ((i >> 2) + 1) * size), i % 4, row);
    expect(row).toEqual(want.subarray(i * columns, (i + 1) * columns));
  }
  // The last panel's fourth row is not there.
  for (let byte = 0; byte < size; byte++) panels[size + byte] ^= 255;
  packPanels(dtype, blocks, rows, columns, panels);
  readPanelRow(dtype, panels.subarray(size), 3, row);
  expect(row.every((value) => Math.abs(value) === 0)).toBe(true);
});

/** float16 as its definition says. */
function half(bits: number): number {
  const [exponent, mantissa] = [(bits >> 10) & 31, bits & 1023];
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 31) return mantissa ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent === 0 ? mantissa * 2 ** -24 : (1024 + mantissa) * 2 ** (exponent - 25));
}
