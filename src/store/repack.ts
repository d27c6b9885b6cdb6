import { encode } from "../quantize/encode.ts";
import { packPanels } from "./pack-panels.ts";
import { PANEL_ROWS } from "./panel.ts";
import { readPanelRow } from "./panel-row.ts";
import type { TensorDtype } from "./types.ts";

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
  const rowBytes = (columns / 32) * 18;
  const rows = new Uint8Array(rowBytes * PANEL_ROWS);
  const values = new Float32Array(columns);
  for (let lane = 0; lane < PANEL_ROWS; lane++) {
    readPanelRow(from, panel, lane, values);
    encode("q4_0", values, rows.subarray(lane * rowBytes, (lane + 1) * rowBytes), columns);
  }
  packPanels(to, rows, PANEL_ROWS, columns, target);
}
