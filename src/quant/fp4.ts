/** Types of 4-bit floating-point numbers (E2M1) with shared scales of 8 bits. */
import type { BlockFormat } from "./block-format.ts";

/** Twice the values of E2M1, which are then integers; minus zero is zero (ggml-common.h, `kvalues_mxfp4`). */
const DOUBLED = Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

/**
 * Half of each E8M0 scale, 2^(e - 128). The standard has no number for 255; ggml goes on to 2^127
 * (`ggml_e8m0_to_fp32_half`).
 */
const HALF_E8M0 = Float32Array.from({ length: 256 }, (_, e) => 2 ** (e - 128));

/**
 * Half of each UE4M3 scale: 4 bits of exponent, 3 of mantissa, and a highest bit that ggml ignores. 0x7f, which is no
 * number, is 0, but 0xff is not (`ggml_ue4m3_to_fp32`).
 */
const HALF_UE4M3 = Float32Array.from({ length: 256 }, (_, code) => {
  const exponent = (code >> 3) & 15;
  const mantissa = code & 7;
  if (code === 0x7f) return 0;
  return exponent === 0 ? mantissa * 2 ** -10 : (1 + mantissa / 8) * 2 ** (exponent - 8);
});

/** `bytes` bytes of pairs: the low halves, then the high ones. */
function scalePairs(
  source: Uint8Array,
  at: number,
  bytes: number,
  scale: number,
  target: Float32Array,
  first: number,
): void {
  for (let i = 0; i < bytes; i++) {
    const pair = source[at + i];
    target[first + i] = DOUBLED[pair & 15] * scale;
    target[first + i + bytes] = DOUBLED[pair >> 4] * scale;
  }
}

/** Blocks of 32 values: an E8M0 scale, then 16 bytes of pairs in halves as in Q4_0 (ggml-common.h, `block_mxfp4`). */
export const mxfp4: BlockFormat = {
  name: "mxfp4",
  blockSize: 32,
  blockBytes: 17,
  dequantize(source, target, count) {
    for (let block = 0; block < count / 32; block++) {
      const at = block * 17;
      scalePairs(source, at + 1, 16, HALF_E8M0[source[at]], target, block * 32);
    }
  },
};

/**
 * Blocks of 64 values: four UE4M3 scales, each of 16 values, then for each scale 8 bytes of pairs in halves
 * (ggml-common.h, `block_nvfp4`).
 */
export const nvfp4: BlockFormat = {
  name: "nvfp4",
  blockSize: 64,
  blockBytes: 36,
  dequantize(source, target, count) {
    for (let block = 0; block < count / 64; block++) {
      const at = block * 36;
      for (let group = 0; group < 4; group++) {
        const scale = HALF_UE4M3[source[at + group]];
        scalePairs(source, at + 4 + group * 8, 8, scale, target, block * 64 + group * 16);
      }
    }
  },
};
