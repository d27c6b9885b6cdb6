/**
 * Codebooks and signs of the IQ types: their blocks hold numbers of points, each a row of magnitudes, and signs apart.
 */

/**
 * A codebook that is unpacked at the first call.
 *
 * @param packed base64; codes of `bits` bits, lowest first in each byte
 * @param bits a divisor of 8
 * @param levels what each code stands for, integers of 8 bits with sign
 * @returns a function that gives the values of all points, one point behind the other
 */
export function lazyCodebook(packed: string, bits: number, levels: readonly number[]): () => Int8Array {
  let values: Int8Array | undefined;
  return () => {
    values ??= unpackCodes(Buffer.from(packed, "base64"), bits, levels);
    return values;
  };
}

function unpackCodes(bytes: Uint8Array, bits: number, levels: readonly number[]): Int8Array {
  const perByte = 8 / bits;
  const mask = (1 << bits) - 1;
  return Int8Array.from(
    { length: bytes.length * perByte },
    (_, i) => levels[(bytes[Math.floor(i / perByte)] >> (bits * (i % perByte))) & mask],
  );
}

let signs: Int8Array | undefined;

/** For each byte eight factors, -1 where its bit is set and 1 elsewhere, lowest bit first; made at the first call. */
export function signTable(): Int8Array {
  signs ??= Int8Array.from({ length: 256 * 8 }, (_, i) => (((i >> 3) >> (i & 7)) & 1 ? -1 : 1));
  return signs;
}

/**
 * Eight signs from the seven that are stored: the eighth bit makes the number of set bits even (ggml-common.h,
 * `ksigns_iq2xs`).
 */
export function evenSigns(seven: number): number {
  let parity = seven ^ (seven >> 4);
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return seven | ((parity & 1) << 7);
}
