/** Rows of a matrix into panels. No weight changes: see panel.ts for where each goes. */
import { packPackedPanels } from "./pack-packed.ts";
import { isPacked } from "./packed-panel.ts";
import {
  BLOCK_BYTES,
  BLOCK_COLUMNS,
  isLow,
  isQuantized,
  PANEL_ROWS,
  panelBytes,
  panelCount,
  WEIGHTS_BYTES,
} from "./panel.ts";
import type { BlockDtype, TensorDtype } from "./types.ts";

/**
 * Interleave rows, bit by bit as they are.
 *
 * @param rows (count, columns) row-major: float32, float16, bfloat16, or ggml's blocks; 4-byte aligned but for these
 * @param panels room for panelCount(count) panels, 4-byte aligned; every byte is written
 */
export function packPanels(
  dtype: TensorDtype,
  rows: Uint8Array,
  count: number,
  columns: number,
  panels: Uint8Array,
): void {
  const bytes = panelBytes(dtype, columns);
  const whole = Math.floor(count / PANEL_ROWS);
  panels.fill(0, whole * bytes, panelCount(count) * bytes);
  if (isPacked(dtype)) packPackedPanels(dtype, rows, count, columns, panels);
  else if (isLow(dtype)) throw new Error(`${dtype} is made of other panels`);
  else if (isQuantized(dtype)) packBlocks(dtype, rows, count, columns, panels);
  else if (dtype === "f32") {
    packWords(words(rows), whole, columns, words(panels));
    packSingly(words(rows), whole * PANEL_ROWS, count, columns, words(panels));
  } else {
    const packed = columns % 2 === 0 ? whole : 0;
    packPairs(words(rows), packed, columns / 2, words(panels));
    packSingly(halves(rows), packed * PANEL_ROWS, count, columns, halves(panels));
  }
}

/** Values of 32 bits. As integers, for a float that passes through a number may lose the payload of a NaN. */
function packWords(from: Int32Array, panels: number, columns: number, to: Int32Array): void {
  let next = 0;
  for (let panel = 0; panel < panels; panel++) {
    const first = panel * PANEL_ROWS * columns;
    for (let a = first; a < first + columns; a++) {
      to[next] = from[a];
      to[next + 1] = from[a + columns];
      to[next + 2] = from[a + 2 * columns];
      to[next + 3] = from[a + 3 * columns];
      next += PANEL_ROWS;
    }
  }
}

/** Values of 16 bits, two columns at a time. */
function packPairs(from: Int32Array, panels: number, pairs: number, to: Int32Array): void {
  let next = 0;
  for (let panel = 0; panel < panels; panel++) {
    const first = panel * PANEL_ROWS * pairs;
    for (let at = first; at < first + pairs; at++) {
      const a = from[at];
      const b = from[at + pairs];
      const c = from[at + 2 * pairs];
      const d = from[at + 3 * pairs];
      to[next] = (a & 0xffff) | (b << 16);
      to[next + 1] = (c & 0xffff) | (d << 16);
      to[next + 2] = (a >>> 16) | (b & 0xffff0000);
      to[next + 3] = (c >>> 16) | (d & 0xffff0000);
      next += PANEL_ROWS;
    }
  }
}

/** What does not come in fours, value by value. */
function packSingly<T extends Int32Array | Uint16Array>(
  from: T,
  firstRow: number,
  endRow: number,
  columns: number,
  to: T,
): void {
  for (let row = firstRow; row < endRow; row++) {
    const lane = row % PANEL_ROWS;
    const start = (row - lane) * columns + lane;
    for (let column = 0; column < columns; column++)
      to[start + column * PANEL_ROWS] = from[row * columns + column];
  }
}

/** Blocks: a float16 scale, then for each vector four bytes. */
function packBlocks(
  dtype: BlockDtype,
  rows: Uint8Array,
  count: number,
  columns: number,
  panels: Uint8Array,
): void {
  const blocks = columns / BLOCK_COLUMNS;
  const panelWords = panelBytes(dtype, columns) / 4;
  const weightWords = WEIGHTS_BYTES[dtype] / 4;
  const blockWords = BLOCK_BYTES[dtype] / 4;
  // Q4_0 counts its weights from -8 on.
  const flipped = dtype === "q4" ? 0x88888888 : 0;
  const from = halves(rows);
  const weights = words(panels);
  const scales = halves(panels);
  let next = 0;
  for (let row = 0; row < count; row++) {
    const lane = row % PANEL_ROWS;
    let block = ((row - lane) / PANEL_ROWS) * panelWords;
    for (const end = block + blocks * blockWords; block < end; block += blockWords) {
      scales[(block + weightWords) * 2 + lane] = from[next++];
      // Four vectors at a time, for speed; q8 has eight.
      for (let word = block + lane; word < block + weightWords; word += 16) {
        weights[word] = (from[next] | (from[next + 1] << 16)) ^ flipped;
        weights[word + 4] = (from[next + 2] | (from[next + 3] << 16)) ^ flipped;
        weights[word + 8] = (from[next + 4] | (from[next + 5] << 16)) ^ flipped;
        weights[word + 12] = (from[next + 6] | (from[next + 7] << 16)) ^ flipped;
        next += 8;
      }
    }
  }
}

function words(bytes: Uint8Array): Int32Array {
  return new Int32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / 4));
}

function halves(bytes: Uint8Array): Uint16Array {
  return new Uint16Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / 2));
}
