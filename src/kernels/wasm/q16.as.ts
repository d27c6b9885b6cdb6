/**
 * Activations for quantized weights: int16 with a float32 scale per block of 32 columns. Nearly lossless: the error is
 * at most 1.54e-5 of the largest value in the block. Beside each scale lies the block's sum, for weights that have a
 * minimum.
 *
 * Rows lie in tiles of four as long as there are four: for each four columns the four rows' int16 (32 bytes in all),
 * and for each block the four rows' scales, then their sums. Rows that are left over lie one after the other.
 */
import { BLOCK, largestOfBlock } from "./layout.as";

/** 127 × 256: a value is then 256 times an int8 and another int8, as matvec-relaxed.as.ts takes it. */
const LIMIT: f32 = 32512;

/** See `Kernels.quantizeRows`. */
export function quantizeRows(
  x: usize,
  rows: i32,
  columns: i32,
  firstRow: i32,
  endRow: i32,
  firstColumn: i32,
  endColumn: i32,
  q: usize,
  scales: usize,
): void {
  const blocks = columns / BLOCK;
  for (let row = firstRow; row < endRow; row++) {
    const tile = row & ~3;
    const tiled = tile + 4 <= rows;
    const start = tiled ? tile : row;
    const lanes: usize = tiled ? 4 : 1;
    const lane = <usize>(row - start);
    let from = x + (<usize>row * <usize>columns + <usize>firstColumn) * 4;
    let to = q + (<usize>start * <usize>columns + <usize>firstColumn * lanes + lane * 4) * 2;
    let scale = scales + (<usize>start * <usize>blocks + <usize>(firstColumn / BLOCK) * lanes) * 8 + lane * 4;
    for (let column = firstColumn; column < endColumn; column += BLOCK) {
      const largest = largestOfBlock(from);
      store<f32>(scale, largest / LIMIT);
      // A block of zeros keeps scale 0 and zeros.
      const inverse = f32x4.splat(largest > 0 ? LIMIT / largest : 0);
      let sums = i32x4.splat(0);
      for (let quad = 0; quad < 8; quad++) {
        const rounded = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(from), inverse)));
        sums = i32x4.add(sums, rounded);
        v128.store64_lane(to, i16x8.narrow_i32x4_s(rounded, rounded), 0);
        from += 16;
        to += lanes * 8;
      }
      sums = i32x4.add(sums, v128.shuffle<i32>(sums, sums, 2, 3, 0, 1));
      sums = i32x4.add(sums, v128.shuffle<i32>(sums, sums, 1, 0, 3, 2));
      store<f32>(scale + lanes * 4, <f32>i32x4.extract_lane(sums, 0) * load<f32>(scale));
      scale += lanes * 8;
    }
  }
}
