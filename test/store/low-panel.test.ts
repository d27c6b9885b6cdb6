import { describe, expect, it } from "vitest";
import { f16ToF32 } from "../../src/quant/half.ts";
import { type FewBits, writeLowRow } from "../../src/store/low-panel.ts";
import { BLOCK_BYTES, panelBytes, WEIGHTS_BYTES } from "../../src/store/panel.ts";
import { readPanelRow } from "../../src/store/panel-row.ts";
import { repackPanel } from "../../src/store/repack.ts";
import { gaussian, seeded } from "../random.ts";

const LEVELS = {
  q4: { codes: 16, middle: 8 },
  q3: { codes: 8, middle: 3.5 },
  q2: { codes: 4, middle: 1.5 },
} as const;
const DTYPES = Object.keys(LEVELS) as FewBits[];

describe.each(DTYPES)("weights of few bits: %s", (dtype) => {
  const { codes, middle } = LEVELS[dtype];

  it("are near to what they were, each row by itself", () => {
    const panel = new Uint8Array(panelBytes(dtype, 64)).fill(0xff);
    const rows = [0, 1, 2, 3].map((lane) =>
      Float32Array.from({ length: 64 }, (_, i) => (((i * 7 + lane) % codes) - middle) * 2 ** -(lane + 3)),
    );
    for (const [lane, row] of rows.entries()) writeLowRow(dtype, row, panel, lane);
    for (const [lane, row] of rows.entries()) {
      const read = new Float32Array(64);
      readPanelRow(dtype, panel, lane, read);
      const error = row.reduce((sum, value, i) => sum + (read[i] - value) ** 2, 0);
      expect(error / row.reduce((sum, value) => sum + value ** 2, 0)).toBeLessThan(0.06);
    }
  });

  it("have about the least error that so many levels can have", () => {
    const random = seeded(3);
    const row = Float32Array.from({ length: 4096 }, () => 0.02 * gaussian(random));
    const panel = new Uint8Array(panelBytes(dtype, row.length));
    writeLowRow(dtype, row, panel, 2);
    const read = new Float32Array(row.length);
    readPanelRow(dtype, panel, 2, read);
    let [error, power] = [0, 0];
    for (const [i, value] of row.entries()) {
      error += (read[i] - value) ** 2;
      power += value ** 2;
    }
    // Uniform levels for Gaussian values: Max, "Quantizing for minimum distortion", 1960, table II.
    const least = { q4: 0.01154, q3: 0.03744, q2: 0.1188 }[dtype];
    expect(error / power).toBeLessThan(least);
    expect(error / power).toBeGreaterThan(least * 0.7);
  });

  it("may be zero, and tiny", () => {
    const panel = new Uint8Array(panelBytes(dtype, 32));
    writeLowRow(dtype, new Float32Array(32), panel, 0);
    const tiny = new Float32Array(32).fill(1e-7);
    writeLowRow(dtype, tiny, panel, 1);
    const read = new Float32Array(32);
    readPanelRow(dtype, panel, 0, read);
    expect([...read].every((value) => Object.is(Math.abs(value), 0))).toBe(true);
    readPanelRow(dtype, panel, 1, read);
    expect(read.every(Number.isFinite)).toBe(true);
    const halves = new Uint16Array(panel.buffer);
    expect(f16ToF32(halves[WEIGHTS_BYTES[dtype] / 2])).toBe(0);
    expect(panel).toHaveLength(BLOCK_BYTES[dtype]);
  });

  it("are made from panels of another dtype", () => {
    const values = Float32Array.from({ length: 4 * 32 }, (_, i) => Math.fround(Math.sin(i)));
    const panel = new Uint8Array(panelBytes(dtype, 32));
    repackPanel("f32", new Uint8Array(values.buffer), dtype, panel, 32);
    const want = new Uint8Array(panelBytes(dtype, 32));
    for (let lane = 0; lane < 4; lane++)
      writeLowRow(
        dtype,
        Float32Array.from({ length: 32 }, (_, i) => values[4 * i + lane]),
        want,
        lane,
      );
    expect(panel).toEqual(want);
  });
});
