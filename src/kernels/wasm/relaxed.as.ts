/**
 * Products of q8 panels with activations of 8 bits, for processors and engines with an exact dot product of unsigned and
 * signed bytes (VNNI): faster by half than 16 bits, and less exact. A module of its own, for engines without relaxed
 * SIMD cannot compile it. See `Int8Kernels`.
 */
import { anyHalvesToFloats, usualHalvesToFloats } from "./half.as";
import { BLOCK, largestOfBlock, Q8_BLOCK_BYTES, Q8_QUADS_BYTES, ROW_BLOCK } from "./layout.as";
import { hasUsualScales } from "./matmul-q8.as";

export {
  matvecQ4_1,
  matvecQ4_K,
  matvecQ5_0,
  matvecQ5_1,
  matvecQ5_K,
  matvecQ6_K,
} from "./matvec-relaxed.as";

const LIMIT: f32 = 127;

/**
 * Whether the dot product takes its second operand as unsigned bytes, exactly. Where it does not, 255 is -1, or sums
 * of two products are cut off at 16 bits.
 */
export function isExact(): bool {
  const bytes = i8x16.splat(-1);
  const high = i32x4.relaxed_dot_i8x16_i7x16_add_s(i8x16.splat(127), bytes, i32x4.splat(0));
  const low = i32x4.relaxed_dot_i8x16_i7x16_add_s(i8x16.splat(-128), bytes, i32x4.splat(0));
  return i32x4.extract_lane(high, 0) === 4 * 127 * 255 && i32x4.extract_lane(low, 3) === -4 * 128 * 255;
}

/** See `Int8Kernels.quantizeTiles`. */
export function quantizeTiles(
  x: usize,
  columns: i32,
  firstRow: i32,
  endRow: i32,
  q: usize,
  scales: usize,
  sums: usize,
): void {
  const blocks = columns / BLOCK;
  for (let row = firstRow; row < endRow; row++) {
    const tile = <usize>(row & ~3);
    const lane = <usize>(row & 3);
    let from = x + <usize>row * <usize>columns * 4;
    let to = q + tile * <usize>columns + lane * 4;
    let block = (tile * <usize>blocks + lane) * 4;
    for (const end = from + <usize>columns * 4; from < end; ) {
      const largest = largestOfBlock(from);
      store<f32>(scales + block, largest / LIMIT);
      const inverse = f32x4.splat(largest > 0 ? LIMIT / largest : 0);
      let sum = i32x4.splat(0);
      for (let quad = 0; quad < 8; quad++) {
        const rounded = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(from), inverse)));
        sum = i32x4.add(sum, rounded);
        const words = i16x8.narrow_i32x4_s(rounded, rounded);
        v128.store32_lane(to, i8x16.narrow_i16x8_s(words, words), 0);
        from += 16;
        to += 16;
      }
      const total =
        i32x4.extract_lane(sum, 0) +
        i32x4.extract_lane(sum, 1) +
        i32x4.extract_lane(sum, 2) +
        i32x4.extract_lane(sum, 3);
      // Weights are taken as unsigned, 128 too large: this takes away what is too much.
      store<i32>(sums + block, -128 * total);
      block += 16;
    }
  }
}

/** See `Int8Kernels.matmulQ8`. */
export function matmulQ8(
  panels: usize,
  count: i32,
  columns: i32,
  q: usize,
  scales: usize,
  sums: usize,
  rows: i32,
  y: usize,
  yStride: i32,
): void {
  const blocks = <usize>(columns / BLOCK);
  const panelBytes = blocks * Q8_BLOCK_BYTES;
  const yBytes = <usize>yStride * 4;
  for (let first = 0; first < rows; first += ROW_BLOCK) {
    const end = min(first + ROW_BLOCK, rows);
    for (let panel = 0; panel < count; panel += 2) {
      const w = panels + <usize>panel * panelBytes;
      const pair = panel + 1 < count;
      const usual = pair && hasUsualScales(w, 2 * panelBytes);
      for (let row = first; row < end; row += 4) {
        const block = <usize>row * blocks * 4;
        const to = y + <usize>panel * 16 + <usize>row * yBytes;
        const from = q + <usize>row * <usize>columns;
        if (usual) twoPanelsFourRows(false, w, panelBytes, from, scales + block, sums + block, to, yBytes);
        else if (pair) twoPanelsFourRows(true, w, panelBytes, from, scales + block, sums + block, to, yBytes);
        else onePanelFourRows(w, panelBytes, from, scales + block, sums + block, to, yBytes);
      }
    }
  }
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function dot(sum: v128, x: v128, weights: v128): v128 {
  return i32x4.relaxed_dot_i8x16_i7x16_add_s(x, weights, sum);
}

/** A quad of weights as unsigned bytes. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function unsigned(w: usize): v128 {
  return v128.xor(v128.load(w), i8x16.splat(-128));
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function scaled(sum: v128, products: v128, scale: v128, rowScale: v128): v128 {
  return f32x4.add(sum, f32x4.mul(f32x4.convert_i32x4_s(products), f32x4.mul(scale, rowScale)));
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function twoPanelsFourRows(
  anyScales: bool,
  w: usize,
  panelBytes: usize,
  q: usize,
  scales: usize,
  sums: usize,
  y: usize,
  yBytes: usize,
): void {
  let y0 = f32x4.splat(0);
  let y1 = y0;
  let y2 = y0;
  let y3 = y0;
  let z0 = y0;
  let z1 = y0;
  let z2 = y0;
  let z3 = y0;
  for (const end = w + panelBytes; w < end; ) {
    let a0 = v128.load32_splat(sums);
    let a1 = v128.load32_splat(sums, 4);
    let a2 = v128.load32_splat(sums, 8);
    let a3 = v128.load32_splat(sums, 12);
    let b0 = a0;
    let b1 = a1;
    let b2 = a2;
    let b3 = a3;
    for (const quads = w + Q8_QUADS_BYTES; w < quads; w += 16, q += 16) {
      const a = unsigned(w);
      const b = unsigned(w + panelBytes);
      let x = v128.load32_splat(q);
      a0 = dot(a0, x, a);
      b0 = dot(b0, x, b);
      x = v128.load32_splat(q, 4);
      a1 = dot(a1, x, a);
      b1 = dot(b1, x, b);
      x = v128.load32_splat(q, 8);
      a2 = dot(a2, x, a);
      b2 = dot(b2, x, b);
      x = v128.load32_splat(q, 12);
      a3 = dot(a3, x, a);
      b3 = dot(b3, x, b);
    }
    const aHalves = v128.load64_zero(w);
    const bHalves = v128.load64_zero(w + panelBytes);
    const aScale = anyScales ? anyHalvesToFloats(aHalves) : usualHalvesToFloats(aHalves);
    const bScale = anyScales ? anyHalvesToFloats(bHalves) : usualHalvesToFloats(bHalves);
    let rowScale = v128.load32_splat(scales);
    y0 = scaled(y0, a0, aScale, rowScale);
    z0 = scaled(z0, b0, bScale, rowScale);
    rowScale = v128.load32_splat(scales, 4);
    y1 = scaled(y1, a1, aScale, rowScale);
    z1 = scaled(z1, b1, bScale, rowScale);
    rowScale = v128.load32_splat(scales, 8);
    y2 = scaled(y2, a2, aScale, rowScale);
    z2 = scaled(z2, b2, bScale, rowScale);
    rowScale = v128.load32_splat(scales, 12);
    y3 = scaled(y3, a3, aScale, rowScale);
    z3 = scaled(z3, b3, bScale, rowScale);
    w += Q8_BLOCK_BYTES - Q8_QUADS_BYTES;
    scales += 16;
    sums += 16;
  }
  v128.store(y, y0);
  v128.store(y, z0, 16);
  v128.store(y + yBytes, y1);
  v128.store(y + yBytes, z1, 16);
  v128.store(y + 2 * yBytes, y2);
  v128.store(y + 2 * yBytes, z2, 16);
  v128.store(y + 3 * yBytes, y3);
  v128.store(y + 3 * yBytes, z3, 16);
}

/** The same for a panel that is left over, with sums made in the same order. */
function onePanelFourRows(
  w: usize,
  panelBytes: usize,
  q: usize,
  scales: usize,
  sums: usize,
  y: usize,
  yBytes: usize,
): void {
  let y0 = f32x4.splat(0);
  let y1 = y0;
  let y2 = y0;
  let y3 = y0;
  for (const end = w + panelBytes; w < end; ) {
    let a0 = v128.load32_splat(sums);
    let a1 = v128.load32_splat(sums, 4);
    let a2 = v128.load32_splat(sums, 8);
    let a3 = v128.load32_splat(sums, 12);
    for (const quads = w + Q8_QUADS_BYTES; w < quads; w += 16, q += 16) {
      const a = unsigned(w);
      a0 = dot(a0, v128.load32_splat(q), a);
      a1 = dot(a1, v128.load32_splat(q, 4), a);
      a2 = dot(a2, v128.load32_splat(q, 8), a);
      a3 = dot(a3, v128.load32_splat(q, 12), a);
    }
    const scale = anyHalvesToFloats(v128.load64_zero(w));
    y0 = scaled(y0, a0, scale, v128.load32_splat(scales));
    y1 = scaled(y1, a1, scale, v128.load32_splat(scales, 4));
    y2 = scaled(y2, a2, scale, v128.load32_splat(scales, 8));
    y3 = scaled(y3, a3, scale, v128.load32_splat(scales, 12));
    w += Q8_BLOCK_BYTES - Q8_QUADS_BYTES;
    scales += 16;
    sums += 16;
  }
  v128.store(y, y0);
  v128.store(y + yBytes, y1);
  v128.store(y + 2 * yBytes, y2);
  v128.store(y + 3 * yBytes, y3);
}
