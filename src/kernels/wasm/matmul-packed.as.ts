/**
 * Packed panels times tiles of four rows of x: each panel is unfolded into integers of 8 bits and float32 scales, in the
 * processor's cache, and these serve all rows of a block. So the work of unfolding is shared by many rows, and one
 * product does for all packed dtypes.
 *
 * An unfolded group of 32 columns: eight quads of 16 bytes, as in q8; the four rows' scales of the first 16 columns, of
 * the other 16, and what is added for the sum of x.
 */
import { anyHalvesToFloats } from "./half.as";
import { BLOCK, ROW_BLOCK } from "./layout.as";
import { sumPairs } from "./matmul-q8.as";
import { centered } from "./matvec-packed.as";
import {
  hasMinimum,
  IQ4_NL,
  IQ4_XS,
  MXFP4,
  nextQuad,
  Packed,
  packedPanelBytes,
  Q4_1,
  Q4_K,
  Q5_0,
  Q5_1,
  Q5_K,
  Q6_K,
  quad,
  sixBits,
  tailBytes,
  tailScale,
  upperBits,
  upperBytes,
} from "./packed.as";

/** Bytes of an unfolded group, as `packedScratchBytes` counts. */
const GROUP: usize = 176;

/**
 * See `Kernels.matmulPacked`.
 *
 * @param rows a multiple of four
 */
export function matmulPacked(
  type: Packed,
  panels: usize,
  count: i32,
  columns: i32,
  q: usize,
  scales: usize,
  rows: i32,
  y: usize,
  yStride: i32,
  scratch: usize,
): void {
  const groups = <usize>(columns / BLOCK);
  const panelBytes = packedPanelBytes(type, columns);
  const yBytes = <usize>yStride * 4;
  const end = scratch + groups * GROUP;
  for (let first = 0; first < rows; first += ROW_BLOCK) {
    const endRow = min(first + ROW_BLOCK, rows);
    for (let panel = 0; panel < count; panel++) {
      unfold(type, panels + <usize>panel * panelBytes, panelBytes, scratch);
      for (let row = first; row < endRow; row += 4) {
        const from = q + <usize>row * <usize>columns * 2;
        const rowScales = scales + <usize>row * groups * 8;
        const to = y + <usize>panel * 16 + <usize>row * yBytes;
        for (let lane: usize = 0; lane < 4; lane += 2) {
          const x = from + lane * 8;
          const out = to + lane * yBytes;
          if (type === Q6_K) twoRows(true, false, scratch, end, x, rowScales + lane * 4, out, yBytes);
          else if (hasMinimum(type)) twoRows(false, true, scratch, end, x, rowScales + lane * 4, out, yBytes);
          else twoRows(false, false, scratch, end, x, rowScales + lane * 4, out, yBytes);
        }
      }
    }
  }
}

/** Two rows of a tile: with four, sums would not stay in registers. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function twoRows(
  halves: bool,
  minimums: bool,
  w: usize,
  end: usize,
  q: usize,
  scales: usize,
  y: usize,
  yBytes: usize,
): void {
  let sum0 = f32x4.splat(0);
  let sum1 = sum0;
  for (; w < end; w += GROUP - 128, scales += 32) {
    let a0 = i32x4.splat(0);
    let b0 = a0;
    let a1 = a0;
    let b1 = a0;
    let half0 = sum0;
    let half1 = sum1;
    const quads = w + 128;
    if (halves) {
      for (const middle = w + 64; w < middle; w += 16, q += 32) {
        const upper = v128.load8x8_s(w);
        const lower = v128.load8x8_s(w, 8);
        let x = v128.load64_splat(q);
        a0 = i32x4.add(a0, i32x4.dot_i16x8_s(upper, x));
        b0 = i32x4.add(b0, i32x4.dot_i16x8_s(lower, x));
        x = v128.load64_splat(q, 8);
        a1 = i32x4.add(a1, i32x4.dot_i16x8_s(upper, x));
        b1 = i32x4.add(b1, i32x4.dot_i16x8_s(lower, x));
      }
      const scale = v128.load(w, 64);
      half0 = f32x4.mul(sumPairs(a0, b0), scale);
      half1 = f32x4.mul(sumPairs(a1, b1), scale);
      a0 = i32x4.splat(0);
      b0 = a0;
      a1 = a0;
      b1 = a0;
    }
    for (; w < quads; w += 16, q += 32) {
      const upper = v128.load8x8_s(w);
      const lower = v128.load8x8_s(w, 8);
      let x = v128.load64_splat(q);
      a0 = i32x4.add(a0, i32x4.dot_i16x8_s(upper, x));
      b0 = i32x4.add(b0, i32x4.dot_i16x8_s(lower, x));
      x = v128.load64_splat(q, 8);
      a1 = i32x4.add(a1, i32x4.dot_i16x8_s(upper, x));
      b1 = i32x4.add(b1, i32x4.dot_i16x8_s(lower, x));
    }
    const scale = halves ? v128.load(w, 16) : v128.load(w);
    let scaled0 = f32x4.mul(sumPairs(a0, b0), scale);
    let scaled1 = f32x4.mul(sumPairs(a1, b1), scale);
    if (halves) {
      scaled0 = f32x4.add(scaled0, half0);
      scaled1 = f32x4.add(scaled1, half1);
    }
    sum0 = f32x4.add(sum0, f32x4.mul(scaled0, v128.load32_splat(scales)));
    sum1 = f32x4.add(sum1, f32x4.mul(scaled1, v128.load32_splat(scales, 4)));
    if (minimums) {
      const added = v128.load(w, 32);
      sum0 = f32x4.add(sum0, f32x4.mul(added, v128.load32_splat(scales, 16)));
      sum1 = f32x4.add(sum1, f32x4.mul(added, v128.load32_splat(scales, 20)));
    }
  }
  v128.store(y, sum0);
  v128.store(y + yBytes, sum1);
}

function unfold(type: Packed, w: usize, panelBytes: usize, to: usize): void {
  if (type === Q4_K) unfoldK(Q4_K, w, panelBytes, to);
  else if (type === Q6_K) unfoldQ6(w, panelBytes, to);
  else if (type === Q5_K) unfoldK(Q5_K, w, panelBytes, to);
  else if (type === IQ4_XS) unfoldIq4(w, panelBytes, to);
  else if (type === Q4_1) unfoldPlain(Q4_1, w, panelBytes, to);
  else if (type === Q5_0) unfoldPlain(Q5_0, w, panelBytes, to);
  else if (type === Q5_1) unfoldPlain(Q5_1, w, panelBytes, to);
  else if (type === IQ4_NL) unfoldPlain(IQ4_NL, w, panelBytes, to);
  else unfoldPlain(MXFP4, w, panelBytes, to);
}

/** The integers of a group. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function unfoldGroup(type: Packed, group: usize, to: usize): void {
  let lower = upperBits(type, group, 0);
  let upper = upperBits(type, group, 1);
  for (const end = group + 64; group < end; group += 16, to += 16) {
    const pairs = v128.load(group);
    v128.store(to, quad(type, pairs, lower, 0));
    v128.store(to, quad(type, pairs, upper, 1), 64);
    lower = nextQuad(type, lower);
    upper = nextQuad(type, upper);
  }
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function unfoldPlain(type: Packed, w: usize, panelBytes: usize, to: usize): void {
  for (const end = w + panelBytes; w < end; to += GROUP) {
    const tail = w + 64 + upperBytes(type);
    unfoldGroup(type, w, to);
    v128.store(to, tailScale(type, tail), 128);
    if (hasMinimum(type)) v128.store(to, anyHalvesToFloats(v128.load64_zero(tail, 8)), 160);
    w = tail + tailBytes(type);
  }
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function unfoldK(type: Packed, w: usize, panelBytes: usize, to: usize): void {
  const groupBytes: usize = 64 + upperBytes(type);
  for (const end = w + panelBytes; w < end; ) {
    const scale = anyHalvesToFloats(v128.load64_zero(w));
    const minimum = f32x4.neg(anyHalvesToFloats(v128.load64_zero(w, 8)));
    let packed = w + 16;
    w += 64;
    for (const heads = w; packed < heads; packed += 12, w += 2 * groupBytes, to += 2 * GROUP) {
      const numbers = v128.load(packed);
      unfoldGroup(type, w, to);
      v128.store(to, f32x4.mul(scale, f32x4.convert_i32x4_s(sixBits(numbers, 0))), 128);
      v128.store(to, f32x4.mul(minimum, f32x4.convert_i32x4_s(sixBits(numbers, 1))), 160);
      unfoldGroup(type, w + groupBytes, to + GROUP);
      v128.store(to + GROUP, f32x4.mul(scale, f32x4.convert_i32x4_s(sixBits(numbers, 2))), 128);
      v128.store(to + GROUP, f32x4.mul(minimum, f32x4.convert_i32x4_s(sixBits(numbers, 3))), 160);
    }
  }
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function unfoldQ6(w: usize, panelBytes: usize, to: usize): void {
  for (const end = w + panelBytes; w < end; ) {
    const scale = anyHalvesToFloats(v128.load64_zero(w));
    let numbers = w + 8;
    w += 72;
    for (const heads = w; numbers < heads; numbers += 8, w += 96, to += GROUP) {
      const wide = v128.load8x8_s(numbers);
      unfoldGroup(Q6_K, w, to);
      v128.store(to, f32x4.mul(scale, f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(wide))), 128);
      v128.store(to, f32x4.mul(scale, f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(wide))), 144);
    }
  }
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function unfoldIq4(w: usize, panelBytes: usize, to: usize): void {
  for (const end = w + panelBytes; w < end; ) {
    const scale = anyHalvesToFloats(v128.load64_zero(w));
    let packed = w + 8;
    w += 32;
    for (const heads = w; packed < heads; packed += 12, w += 256, to += 4 * GROUP) {
      const numbers = v128.load(packed);
      unfoldGroup(IQ4_XS, w, to);
      unfoldGroup(IQ4_XS, w + 64, to + GROUP);
      unfoldGroup(IQ4_XS, w + 128, to + 2 * GROUP);
      unfoldGroup(IQ4_XS, w + 192, to + 3 * GROUP);
      v128.store(to, f32x4.mul(scale, centered(numbers, 0)), 128);
      v128.store(to + GROUP, f32x4.mul(scale, centered(numbers, 1)), 128);
      v128.store(to + 2 * GROUP, f32x4.mul(scale, centered(numbers, 2)), 128);
      v128.store(to + 3 * GROUP, f32x4.mul(scale, centered(numbers, 3)), 128);
    }
  }
}
