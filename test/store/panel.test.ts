import { describe, expect, test } from "vitest";
import { packPanelsF32, packPanelsQ8, panelBytes, panelCount } from "../../src/store/panel.ts";

const shapes = [
  [1, 32],
  [4, 64],
  [7, 96],
  [12, 2048],
] as const;

describe.each(shapes)("panels of %i rows of %i", (rows, columns) => {
  test("f32: every value is where the layout says, the rest is zero", () => {
    const values = Float32Array.from({ length: rows * columns }, (_, i) => i + 1);
    const panels = new Float32Array(panelCount(rows) * 4 * columns).fill(NaN);
    packPanelsF32(values, rows, columns, panels);
    for (let row = 0; row < panelCount(rows) * 4; row++) {
      for (let column = 0; column < columns; column++) {
        const found = panels[Math.floor(row / 4) * 4 * columns + column * 4 + (row % 4)];
        if (found !== (row < rows ? row * columns + column + 1 : 0)) expect([row, column, found]).toBeNull();
      }
    }
  });

  test("q8: every byte and scale is where the layout says, the rest is zero", () => {
    const blocks = columns / 32;
    const source = Uint8Array.from({ length: rows * blocks * 34 }, (_, i) => (i * 31 + (i >> 7)) & 255);
    const size = panelBytes("q8", columns);
    const panels = new Uint8Array(panelCount(rows) * size).fill(255);
    packPanelsQ8(source, rows, columns, panels);
    for (let row = 0; row < panelCount(rows) * 4; row++) {
      const panel = Math.floor(row / 4) * size;
      const lane = row % 4;
      for (let column = 0; column < columns; column++) {
        const block = (row * blocks + Math.floor(column / 32)) * 34;
        const at = panel + Math.floor(column / 32) * 136;
        const found = panels[at + Math.floor((column % 32) / 4) * 16 + lane * 4 + (column % 4)];
        if (found !== (row < rows ? source[block + 2 + (column % 32)] : 0))
          expect([row, column, found]).toBeNull();
        const scale = at + 128 + lane * 2;
        for (const i of [0, 1])
          if (panels[scale + i] !== (row < rows ? source[block + i] : 0))
            expect([row, column, "scale"]).toBeNull();
      }
    }
  });
});
