import { halfToFloatTable } from "../quant/half.ts";
import { readLowRow } from "./low-panel.ts";
import { isPacked } from "./packed-panel.ts";
import { readPackedRow } from "./packed-row.ts";
import { BLOCK_BYTES, BLOCK_COLUMNS, isLow, PANEL_ROWS, WEIGHTS_BYTES } from "./panel.ts";
import type { LowDtype, PackedDtype, TensorDtype } from "./types.ts";

/**
 * One row of a panel as float32.
 *
 * @param panel one panel, 4-byte aligned
 * @param lane which of its rows, 0 to 3
 * @param target (columns)
 */
export function readPanelRow(
  dtype: TensorDtype,
  panel: Uint8Array,
  lane: number,
  target: Float32Array,
): void {
  if (isPacked(dtype)) readPackedRow(dtype, panel, lane, target);
  else if (isLow(dtype)) readLowRow(dtype, panel, lane, target);
  else READERS[dtype](panel, lane, target);
}

const READERS: Readonly<
  Record<
    Exclude<TensorDtype, PackedDtype | LowDtype>,
    (panel: Uint8Array, lane: number, target: Float32Array) => void
  >
> = {
  f32(panel, lane, target) {
    const values = new Float32Array(panel.buffer, panel.byteOffset, panel.byteLength / 4);
    for (let column = 0; column < target.length; column++)
      target[column] = values[column * PANEL_ROWS + lane];
  },

  f16(panel, lane, target) {
    const values = halvesOf(panel);
    const floats = halfToFloatTable();
    for (let column = 0; column < target.length; column++)
      target[column] = floats[values[column * PANEL_ROWS + lane]];
  },

  bf16(panel, lane, target) {
    const values = halvesOf(panel);
    const bits = new Uint32Array(target.buffer, target.byteOffset, target.length);
    for (let column = 0; column < target.length; column++)
      bits[column] = values[column * PANEL_ROWS + lane] << 16;
  },

  q8(panel, lane, target) {
    const scales = halvesOf(panel);
    const floats = halfToFloatTable();
    for (let column = 0; column < target.length; column++) {
      const within = column % BLOCK_COLUMNS;
      const block = ((column - within) / BLOCK_COLUMNS) * BLOCK_BYTES.q8;
      const weight = (panel[block + placeInQuads(within, lane)] << 24) >> 24;
      target[column] = weight * floats[scales[(block + WEIGHTS_BYTES.q8) / 2 + lane]];
    }
  },

  q4(panel, lane, target) {
    const scales = halvesOf(panel);
    const floats = halfToFloatTable();
    for (let column = 0; column < target.length; column++) {
      const within = column % BLOCK_COLUMNS;
      const block = ((column - within) / BLOCK_COLUMNS) * BLOCK_BYTES.q4;
      const pair = panel[block + placeInQuads(within % 16, lane)];
      const weight = within < 16 ? (pair << 28) >> 28 : (pair << 24) >> 28;
      target[column] = weight * floats[scales[(block + WEIGHTS_BYTES.q4) / 2 + lane]];
    }
  },
};

/** Byte of a column's weight in the quads of its block. */
function placeInQuads(column: number, lane: number): number {
  return (column - (column % 4)) * PANEL_ROWS + lane * 4 + (column % 4);
}

function halvesOf(panel: Uint8Array): Uint16Array {
  return new Uint16Array(panel.buffer, panel.byteOffset, panel.byteLength / 2);
}
