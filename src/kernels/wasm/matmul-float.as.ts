/**
 * Products with f32, f16 and bf16 panels: y = W x.
 *
 * A panel is (columns, 4 rows), so one vector has a column of four rows (or, in 16 bits, two columns) and each lane sums
 * up one row. One row of x at a time is bound by the memory that the weights come from; four rows at a time share each
 * load of weights between them.
 */
import { anyHalvesToFloats, areFinite, halvesToFloats, largerMagnitudes, upperHalvesToFloats } from "./half.as";
import { ROW_BLOCK } from "./layout.as";

type WeightType = i32;
const F32: WeightType = 0;
const F16: WeightType = 1;
const BF16: WeightType = 2;

/** See `Kernels.matmulF32`. */
export function matmulF32(panels: usize, count: i32, columns: i32, x: usize, rows: i32, y: usize, yStride: i32): void {
  multiply(F32, panels, count, columns, x, rows, y, yStride);
}

/** See `Kernels.matmulF16`. */
export function matmulF16(panels: usize, count: i32, columns: i32, x: usize, rows: i32, y: usize, yStride: i32): void {
  multiply(F16, panels, count, columns, x, rows, y, yStride);
}

/** See `Kernels.matmulBf16`. */
export function matmulBf16(panels: usize, count: i32, columns: i32, x: usize, rows: i32, y: usize, yStride: i32): void {
  multiply(BF16, panels, count, columns, x, rows, y, yStride);
}

/** How a sum is made does not depend on the number of panels: threads may share them. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function multiply(
  type: WeightType,
  panels: usize,
  count: i32,
  columns: i32,
  x: usize,
  rows: i32,
  y: usize,
  yStride: i32,
): void {
  const panelBytes = <usize>columns * columnBytes(type);
  const xBytes = <usize>columns * 4;
  const yBytes = <usize>yStride * 4;
  const tiled = rows & ~3;
  // Widening float16 takes the registers that a second panel would need.
  const step = type === F16 ? 1 : 2;
  for (let first = 0; first < tiled; first += ROW_BLOCK) {
    const end = min(first + ROW_BLOCK, tiled);
    for (let panel = 0; panel < count; panel += step) {
      const w = panels + <usize>panel * panelBytes;
      const out = y + <usize>panel * 16;
      const finite = type !== F16 || isFinitePanel(w, panelBytes);
      for (let row = first; row < end; row += 4) {
        const from = x + <usize>row * xBytes;
        const to = out + <usize>row * yBytes;
        if (!finite) for (let i: usize = 0; i < 4; i++) anyHalvesOneRow(w, from + i * xBytes, xBytes, to + i * yBytes);
        else if (panel + step <= count && step === 2) twoPanelsFourRows(type, w, panelBytes, from, xBytes, to, yBytes);
        else onePanelFourRows(type, w, from, xBytes, to, yBytes);
      }
    }
  }
  for (let row = tiled; row < rows; row++) {
    const from = x + <usize>row * xBytes;
    const to = y + <usize>row * yBytes;
    for (let panel = 0; panel < count; panel++)
      onePanelOneRow(type, panels + <usize>panel * panelBytes, from, xBytes, to + <usize>panel * 16);
  }
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function columnBytes(type: WeightType): usize {
  return type === F32 ? 16 : 8;
}

/** Four rows of a column as float32; float16 must be finite. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function column(type: WeightType, w: usize): v128 {
  if (type === F32) return v128.load(w);
  if (type === F16) return halvesToFloats(v128.load64_zero(w));
  return i32x4.shl(v128.load16x4_u(w), 16);
}

/** The same of the first of two columns that are loaded at once. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function evenColumn(type: WeightType, w: usize): v128 {
  if (type === F32) return v128.load(w);
  const upper = v128.shuffle<i16>(i16x8.splat(0), v128.load(w), 0, 8, 1, 9, 2, 10, 3, 11);
  return type === F16 ? upperHalvesToFloats(upper) : upper;
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function oddColumn(type: WeightType, w: usize): v128 {
  if (type === F32) return v128.load(w, 16);
  const upper = v128.shuffle<i16>(i16x8.splat(0), v128.load(w), 4, 12, 5, 13, 6, 14, 7, 15);
  return type === F16 ? upperHalvesToFloats(upper) : upper;
}

/** sum + weight × value, for four rows of a panel and one value of x. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function add(sum: v128, w: v128, x: usize): v128 {
  return f32x4.add(sum, f32x4.mul(w, v128.load32_splat(x)));
}

/** Two sums in turn hide the latency of the additions. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function onePanelOneRow(type: WeightType, w: usize, x: usize, xBytes: usize, y: usize): void {
  let even = f32x4.splat(0);
  let odd = even;
  let largest = even;
  let from = x;
  let at = w;
  const pair = columnBytes(type) * 2;
  const end = x + xBytes;
  for (const last = x + (xBytes & ~31); from < last; from += 32, at += 4 * pair) {
    if (type === F16) {
      largest = largerMagnitudes(largest, v128.load(at));
      largest = largerMagnitudes(largest, v128.load(at, 16));
      largest = largerMagnitudes(largest, v128.load(at, 32));
      largest = largerMagnitudes(largest, v128.load(at, 48));
    }
    even = add(even, evenColumn(type, at), from);
    odd = add(odd, oddColumn(type, at), from + 4);
    even = add(even, evenColumn(type, at + pair), from + 8);
    odd = add(odd, oddColumn(type, at + pair), from + 12);
    even = add(even, evenColumn(type, at + 2 * pair), from + 16);
    odd = add(odd, oddColumn(type, at + 2 * pair), from + 20);
    even = add(even, evenColumn(type, at + 3 * pair), from + 24);
    odd = add(odd, oddColumn(type, at + 3 * pair), from + 28);
  }
  for (; from < end; from += 4, at += columnBytes(type)) {
    if (type === F16) largest = largerMagnitudes(largest, v128.load64_zero(at));
    even = add(even, column(type, at), from);
  }
  v128.store(y, f32x4.add(even, odd));
  if (type === F16 && !areFinite(largest)) anyHalvesOneRow(w, x, xBytes, y);
}

/** Eight sums: two panels × four rows of x. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function twoPanelsFourRows(
  type: WeightType,
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
  for (const end = x + xBytes; x < end; x += 4, w += columnBytes(type)) {
    const a = column(type, w);
    const b = column(type, w + panelBytes);
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
// @ts-expect-error: decorators of AssemblyScript
@inline
function onePanelFourRows(type: WeightType, w: usize, x: usize, xBytes: usize, y: usize, yBytes: usize): void {
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  for (const end = x + xBytes; x < end; x += 4, w += columnBytes(type)) {
    const a = column(type, w);
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

/** One row of x and float16 of which some are infinite or NaN: too rare to look for with every weight. */
function anyHalvesOneRow(w: usize, x: usize, xBytes: usize, y: usize): void {
  let sum = f32x4.splat(0);
  for (const end = x + xBytes; x < end; x += 4, w += 8) sum = add(sum, anyHalvesToFloats(v128.load64_zero(w)), x);
  v128.store(y, sum);
}

function isFinitePanel(w: usize, panelBytes: usize): bool {
  // A panel of an odd number of columns ends with half a vector.
  let largest = v128.load64_zero(w);
  w += panelBytes & 8;
  for (const end = w + (panelBytes & ~15); w < end; w += 16) largest = largerMagnitudes(largest, v128.load(w));
  return areFinite(v128.and(largest, i16x8.splat(0x7fff)));
}
