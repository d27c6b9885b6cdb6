import type { RopeParameters } from "../model/types.ts";

/**
 * Angle per position of each pair of a head: scale × base^(-2i/dimensions) / factor (RoPE, arXiv 2104.09864).
 *
 * @param contextLength that may be used: longrope has other factors for long ones
 */
export function ropeFrequencies(rope: RopeParameters, contextLength: number): Float64Array {
  const { dimensions, base, positionScale } = rope;
  const factors = isLong(rope, contextLength) ? rope.longFactors : rope.factors;
  return Float64Array.from(
    { length: dimensions / 2 },
    (_, pair) => (positionScale * base ** ((-2 * pair) / dimensions)) / (factors?.[pair] ?? 1),
  );
}

/** Whether a context of this length takes longrope's factors for long ones: keys are others then. */
export function isLong({ longFactors, shortContext = 0 }: RopeParameters, contextLength: number): boolean {
  return longFactors !== undefined && contextLength > shortContext;
}

/**
 * Cosine and sine of each pair's angle at a position, in turn, times the magnitude.
 *
 * @param target (2 × frequencies)
 */
export function fillRopeRow(
  frequencies: Float64Array,
  position: number,
  magnitude: number,
  target: Float32Array,
): void {
  for (let pair = 0; pair < frequencies.length; pair++) {
    target[2 * pair] = magnitude * Math.cos(position * frequencies[pair]);
    target[2 * pair + 1] = magnitude * Math.sin(position * frequencies[pair]);
  }
}
