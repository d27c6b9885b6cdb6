import { type FewBits, writeLowRow } from "./low-panel.ts";
import { PANEL_ROWS } from "./panel.ts";
import { readPanelRow } from "./panel-row.ts";
import type { TensorDtype } from "./types.ts";

let values = new Float32Array();

/**
 * One panel in fewer bits.
 *
 * @param panel 4-byte aligned
 * @param target 2-byte aligned; every byte is written
 */
export function repackPanel(
  from: TensorDtype,
  panel: Uint8Array,
  to: FewBits,
  target: Uint8Array,
  columns: number,
): void {
  if (values.length < columns) values = new Float32Array(columns);
  const row = values.subarray(0, columns);
  for (let lane = 0; lane < PANEL_ROWS; lane++) {
    readPanelRow(from, panel, lane, row);
    writeLowRow(to, row, target, lane);
  }
}
