/**
 * Scale and minimum of a group of a Q4_K or Q5_K block, 6 bits each: 12 bytes hold those of 8 groups. Of groups 0 to 3
 * they are the low six bits of bytes 0 to 3 and 4 to 7; of groups 4 to 7 their low four bits are the halves of bytes 8
 * to 11, and the high two are what is left of the first eight bytes (ggml-quants.c, `get_scale_min_k4`).
 */

/** @param at where the 12 bytes begin */
export function scaleOf(source: Uint8Array, at: number, group: number): number {
  if (group < 4) return source[at + group] & 63;
  return (source[at + group + 4] & 15) | ((source[at + group - 4] >> 6) << 4);
}

/** @param at where the 12 bytes begin */
export function minimumOf(source: Uint8Array, at: number, group: number): number {
  if (group < 4) return source[at + group + 4] & 63;
  return (source[at + group + 4] >> 4) | ((source[at + group] >> 6) << 4);
}
