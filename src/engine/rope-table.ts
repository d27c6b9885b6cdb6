import type { RopeParameters } from "../model/types.ts";

/** Angle per position of each pair of a head: scale × base^(-2i/dimensions) / factor (RoPE, arXiv 2104.09864). */
export function ropeFrequencies({ dimensions, base, positionScale, factors }: RopeParameters): Float64Array {
  return Float64Array.from(
    { length: dimensions / 2 },
    (_, pair) => (positionScale * base ** ((-2 * pair) / dimensions)) / (factors?.[pair] ?? 1),
  );
}

/** Cosine and sine of each pair's angle at a position, in turn. @param target (2 × frequencies) */
export function fillRopeRow(frequencies: Float64Array, position: number, target: Float32Array): void {
  for (let pair = 0; pair < frequencies.length; pair++) {
    target[2 * pair] = Math.cos(position * frequencies[pair]);
    target[2 * pair + 1] = Math.sin(position * frequencies[pair]);
  }
}
