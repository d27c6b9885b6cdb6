/**
 * Products with f32 panels: y = W x.
 *
 * A panel is (columns, 4 rows) float32, so one vector load brings a column of four rows and each lane sums up one
 * row. One row of x at a time is bound by the memory that the weights come from; four rows at a time share each
 * load of weights between them.
 */
import { ROW_BLOCK } from "./layout.as";

/** See `Kernels.matmulF32`. How a sum is made does not depend on the number of panels: threads may share them. */
export function matmulF32(
  panels: usize,
  count: i32,
  columns: i32,
  x: usize,
  rows: i32,
  y: usize,
  yStride: i32,
): void {
  const panelBytes = <usize>columns * 16;
  const xBytes = <usize>columns * 4;
  const yBytes = <usize>yStride * 4;
  const tiled = rows & ~3;
  for (let first = 0; first < tiled; first += ROW_BLOCK) {
    const end = min(first + ROW_BLOCK, tiled);
    for (let panel = 0; panel < count; panel += 2) {
      const w = panels + <usize>panel * panelBytes;
      const out = y + <usize>panel * 16;
      for (let row = first; row < end; row += 4) {
        const from = x + <usize>row * xBytes;
        const to = out + <usize>row * yBytes;
        if (panel + 1 < count) twoPanelsFourRows(w, panelBytes, from, xBytes, to, yBytes);
        else onePanelFourRows(w, from, xBytes, to, yBytes);
      }
    }
  }
  for (let row = tiled; row < rows; row++) {
    const from = x + <usize>row * xBytes;
    const to = y + <usize>row * yBytes;
    for (let panel = 0; panel < count; panel++)
      onePanelOneRow(panels + <usize>panel * panelBytes, from, xBytes, to + <usize>panel * 16);
  }
}

/** sum + weight × value, for four rows of a panel and one value of x. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function add(sum: v128, w: v128, x: usize): v128 {
  return f32x4.add(sum, f32x4.mul(w, v128.load32_splat(x)));
}

/** Two sums in turn hide the latency of the additions. */
function onePanelOneRow(w: usize, x: usize, xBytes: usize, y: usize): void {
  let even = f32x4.splat(0);
  let odd = f32x4.splat(0);
  const end = x + xBytes;
  for (const last = x + (xBytes & ~31); x < last; x += 32, w += 128) {
    even = add(even, v128.load(w, 0), x);
    odd = add(odd, v128.load(w, 16), x + 4);
    even = add(even, v128.load(w, 32), x + 8);
    odd = add(odd, v128.load(w, 48), x + 12);
    even = add(even, v128.load(w, 64), x + 16);
    odd = add(odd, v128.load(w, 80), x + 20);
    even = add(even, v128.load(w, 96), x + 24);
    odd = add(odd, v128.load(w, 112), x + 28);
  }
  for (; x < end; x += 4, w += 16) even = add(even, v128.load(w), x);
  v128.store(y, f32x4.add(even, odd));
}

/** Eight sums: two panels × four rows of x. */
function twoPanelsFourRows(
  w: usize,
  panelBytes: usize,
  x: usize,
  xBytes: usize,
  y: usize,
  yBytes: usize,
): void {
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  let b0 = a0;
  let b1 = a0;
  let b2 = a0;
  let b3 = a0;
  for (const end = x + xBytes; x < end; x += 4, w += 16) {
    const a = v128.load(w);
    const b = v128.load(w + panelBytes);
    let value = v128.load32_splat(x);
    a0 = f32x4.add(a0, f32x4.mul(a, value));
    b0 = f32x4.add(b0, f32x4.mul(b, value));
    value = v128.load32_splat(x + xBytes);
    a1 = f32x4.add(a1, f32x4.mul(a, value));
    b1 = f32x4.add(b1, f32x4.mul(b, value));
    value = v128.load32_splat(x + 2 * xBytes);
    a2 = f32x4.add(a2, f32x4.mul(a, value));
    b2 = f32x4.add(b2, f32x4.mul(b, value));
    value = v128.load32_splat(x + 3 * xBytes);
    a3 = f32x4.add(a3, f32x4.mul(a, value));
    b3 = f32x4.add(b3, f32x4.mul(b, value));
  }
  v128.store(y, a0);
  v128.store(y, b0, 16);
  v128.store(y + yBytes, a1);
  v128.store(y + yBytes, b1, 16);
  v128.store(y + 2 * yBytes, a2);
  v128.store(y + 2 * yBytes, b2, 16);
  v128.store(y + 3 * yBytes, a3);
  v128.store(y + 3 * yBytes, b3, 16);
}

/** Four sums, added up in the same order as above. */
function onePanelFourRows(w: usize, x: usize, xBytes: usize, y: usize, yBytes: usize): void {
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  for (const end = x + xBytes; x < end; x += 4, w += 16) {
    const a = v128.load(w);
    a0 = add(a0, a, x);
    a1 = add(a1, a, x + xBytes);
    a2 = add(a2, a, x + 2 * xBytes);
    a3 = add(a3, a, x + 3 * xBytes);
  }
  v128.store(y, a0);
  v128.store(y + yBytes, a1);
  v128.store(y + 2 * yBytes, a2);
  v128.store(y + 3 * yBytes, a3);
}
