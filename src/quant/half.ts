/**
 * Conversions between float32 and its 16-bit relatives: IEEE 754 binary16 (`f16`) and bfloat16 (`bf16`, the upper half
 * of a float32). Bits in and out are the low 16 of a number.
 */

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

let table: Float32Array | undefined;

/**
 * float32 value of each of the 65,536 f16, made at the first call. The bit patterns in its buffer are exact, NaN payloads
 * included (what F16C and ggml's `ggml_fp16_to_fp32` give).
 */
export function halfToFloatTable(): Float32Array {
  table ??= new Float32Array(Uint32Array.from({ length: 0x10000 }, (_, half) => widen(half)).buffer);
  return table;
}

function widen(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >> 10) & 0x1f;
  const mantissa = half & 0x3ff;
  if (exponent === 0x1f) {
    // The hardware makes signalling NaNs quiet; an infinity has no mantissa.
    return sign | 0x7f800000 | (mantissa << 13) | (mantissa === 0 ? 0 : 0x400000);
  }
  if (exponent !== 0) return sign | ((exponent + 112) << 23) | (mantissa << 13);
  float[0] = mantissa * 2 ** -24;
  return sign | bits[0];
}

/** float32 value of f16 bits. */
export function f16ToF32(half: number): number {
  return halfToFloatTable()[half];
}

/** f16 bits of a number (first rounded to float32), rounded to nearest, ties to even. Too large becomes infinity. */
export function f32ToF16(value: number): number {
  float[0] = value;
  return f32BitsToF16(bits[0]);
}

/** The same of the bits of a float32. */
export function f32BitsToF16(pattern: number): number {
  const sign = (pattern >>> 16) & 0x8000;
  const magnitude = pattern & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | ((magnitude >> 13) & 0x3ff);
  // 65520 and more lie nearer to 65536, which f16 does not have.
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude >= 0x38800000) {
    const rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    return sign | ((rounded - 0x38000000) >> 13);
  }
  // Below 2^-14 the spacing is 2^-24: adding 0.5 leaves that many bits in a float32, rounded by the addition.
  bits[0] = magnitude;
  float[0] += 0.5;
  return sign | (bits[0] - 0x3f000000);
}

/** float32 value of bf16 bits. */
export function bf16ToF32(half: number): number {
  bits[0] = half << 16;
  return float[0];
}

/** bf16 bits of a number (first rounded to float32), rounded to nearest, ties to even. */
export function f32ToBf16(value: number): number {
  float[0] = value;
  // A NaN stays one whatever its low half is (as ggml's `ggml_compute_fp32_to_bf16`).
  if ((bits[0] & 0x7fffffff) > 0x7f800000) return (bits[0] >>> 16) | 0x40;
  return (bits[0] + 0x7fff + ((bits[0] >>> 16) & 1)) >>> 16;
}
