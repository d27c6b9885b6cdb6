/**
 * Products with q2 and q3 panels: y = W x, with x as int16 (see q16.as.ts), one row of x.
 *
 * A vector of a block has four quads of four rows × four columns in each two bits of its bytes; q3 has the third bits of all
 * eight in one more vector. Widened to int16 and shifted down, each is multiplied with four columns of x as in
 * matmul-q4.as.ts. Weights lie around zero and codes do not: what that makes follows from the sum of x.
 */
import { anyHalvesToFloats } from "./half.as";
import { BLOCK } from "./layout.as";
import { sumPairs } from "./matmul-q8.as";

/** See `Kernels.matmulLow`: scales are (columns / 32, 2), y is (4 × count). */
export function matvecQ2(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  const panelBytes = <usize>(columns / BLOCK) * 40;
  for (const end = panels + <usize>count * panelBytes; panels < end; panels += panelBytes, y += 16)
    onePanel(2, panels, panelBytes, q, scales, y);
}

export function matvecQ3(panels: usize, count: i32, columns: i32, q: usize, scales: usize, y: usize): void {
  const panelBytes = <usize>(columns / BLOCK) * 56;
  for (const end = panels + <usize>count * panelBytes; panels < end; panels += panelBytes, y += 16)
    onePanel(3, panels, panelBytes, q, scales, y);
}

/** sum + products of two rows of a quad, (2, 4) int16, with four columns of x twice over. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function dot(sum: v128, w: v128, x: v128): v128 {
  return i32x4.add(sum, i32x4.dot_i16x8_s(w, x));
}

/** Two bits of bytes that were widened. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function twoBits(bytes: v128, quad: i32): v128 {
  return v128.and(i16x8.shr_u(bytes, quad * 2), i16x8.splat(3));
}

/** One of eight bits, as the third. */
// @ts-expect-error: decorators of AssemblyScript
@inline
function thirdBit(bytes: v128, quad: i32): v128 {
  const moved = quad < 2 ? i16x8.shl(bytes, 2 - quad) : i16x8.shr_u(bytes, quad - 2);
  return v128.and(moved, i16x8.splat(4));
}

// @ts-expect-error: decorators of AssemblyScript
@inline
function onePanel(bits: i32, w: usize, panelBytes: usize, q: usize, scales: usize, y: usize): void {
  // The middle of the codes.
  const middle = f32x4.splat(bits === 2 ? 1.5 : 3.5);
  let sum = f32x4.splat(0);
  for (const end = w + panelBytes; w < end; ) {
    let a = i32x4.splat(0);
    let b = a;
    let thirdUpper = a;
    let thirdLower = a;
    if (bits === 3) {
      thirdUpper = v128.load8x8_u(w, 32);
      thirdLower = v128.load8x8_u(w, 40);
    }
    let upper = v128.load8x8_u(w);
    let lower = v128.load8x8_u(w, 8);
    let x = v128.load64_splat(q);
    a = dot(a, code(bits, upper, thirdUpper, 0, 0), x);
    b = dot(b, code(bits, lower, thirdLower, 0, 0), x);
    x = v128.load64_splat(q, 8);
    a = dot(a, code(bits, upper, thirdUpper, 1, 1), x);
    b = dot(b, code(bits, lower, thirdLower, 1, 1), x);
    x = v128.load64_splat(q, 16);
    a = dot(a, code(bits, upper, thirdUpper, 2, 2), x);
    b = dot(b, code(bits, lower, thirdLower, 2, 2), x);
    x = v128.load64_splat(q, 24);
    a = dot(a, code(bits, upper, thirdUpper, 3, 3), x);
    b = dot(b, code(bits, lower, thirdLower, 3, 3), x);
    upper = v128.load8x8_u(w, 16);
    lower = v128.load8x8_u(w, 24);
    x = v128.load64_splat(q, 32);
    a = dot(a, code(bits, upper, thirdUpper, 0, 4), x);
    b = dot(b, code(bits, lower, thirdLower, 0, 4), x);
    x = v128.load64_splat(q, 40);
    a = dot(a, code(bits, upper, thirdUpper, 1, 5), x);
    b = dot(b, code(bits, lower, thirdLower, 1, 5), x);
    x = v128.load64_splat(q, 48);
    a = dot(a, code(bits, upper, thirdUpper, 2, 6), x);
    b = dot(b, code(bits, lower, thirdLower, 2, 6), x);
    x = v128.load64_splat(q, 56);
    a = dot(a, code(bits, upper, thirdUpper, 3, 7), x);
    b = dot(b, code(bits, lower, thirdLower, 3, 7), x);
    w += bits === 2 ? 32 : 48;
    const around = f32x4.sub(
      f32x4.mul(sumPairs(a, b), v128.load32_splat(scales)),
      f32x4.mul(middle, v128.load32_splat(scales, 4)),
    );
    sum = f32x4.add(sum, f32x4.mul(anyHalvesToFloats(v128.load64_zero(w)), around));
    w += 8;
    q += 64;
    scales += 8;
  }
  v128.store(y, sum);
}

/** @param place of the quad in its vector, and in the block */
// @ts-expect-error: decorators of AssemblyScript
@inline
function code(bits: i32, bytes: v128, third: v128, place: i32, quad: i32): v128 {
  const two = twoBits(bytes, place);
  return bits === 2 ? two : v128.or(two, thirdBit(third, quad));
}
