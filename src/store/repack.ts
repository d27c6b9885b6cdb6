import { f32ToF16, halfToFloatTable } from "../quant/half.ts";
import { BLOCK_BYTES, BLOCK_COLUMNS, PANEL_ROWS, WEIGHTS_BYTES } from "./panel.ts";
import { readPanelRow } from "./panel-row.ts";
import type { TensorDtype } from "./types.ts";

let values = new Float32Array();

/**
 * One panel as another dtype; only into q4, or as it is.
 *
 * @param panel 4-byte aligned
 * @param target every byte is written
 */
export function repackPanel(
  from: TensorDtype,
  panel: Uint8Array,
  to: TensorDtype,
  target: Uint8Array,
  columns: number,
): void {
  if (from === to) {
    target.set(panel);
    return;
  }
  if (values.length < columns) values = new Float32Array(columns);
  const row = values.subarray(0, columns);
  const halves = new Uint16Array(target.buffer, target.byteOffset, target.length / 2);
  const floats = halfToFloatTable();
  for (let lane = 0; lane < PANEL_ROWS; lane++) {
    readPanelRow(from, panel, lane, row);
    for (let first = 0, block = 0; first < columns; first += BLOCK_COLUMNS, block += BLOCK_BYTES.q4) {
      let most = 0;
      for (let i = first; i < first + BLOCK_COLUMNS; i++)
        if (Math.abs(row[i]) > Math.abs(most)) most = row[i];
      const half = f32ToF16(most / -8);
      const scale = floats[half];
      halves[(block + WEIGHTS_BYTES.q4) / 2 + lane] = half;
      const inverse = scale === 0 ? 0 : 1 / scale;
      for (let i = 0; i < 16; i++) {
        const low = Math.max(-8, Math.min(7, Math.round(row[first + i] * inverse)));
        const high = Math.max(-8, Math.min(7, Math.round(row[first + 16 + i] * inverse)));
        target[block + (i >> 2) * 16 + lane * 4 + (i & 3)] = (low & 15) | ((high & 15) << 4);
      }
    }
  }
}
