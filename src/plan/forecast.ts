/** The law that rules speed, docs/architecture.md: a sweep takes as long as the slower of disk and arithmetic. */
import { MAXIMUM_DRAFT } from "../engine/draft/types.ts";
import type { Rehearsal } from "../engine/rehearsal.ts";

/** What a sweep of a model has to bring and to compute. */
export interface SweepLoad {
  readonly layers: number;
  /** Bytes of the layer that was rehearsed, of all layers, and of the output matrix with its norm. */
  readonly layerBytes: number;
  readonly layersBytes: number;
  readonly outputBytes: number;
  readonly rehearsal: Rehearsal;
}

/** Bytes of all weights that a sweep needs. */
export function sweepBytes({ layersBytes, outputBytes }: SweepLoad): number {
  return layersBytes + outputBytes;
}

/**
 * Seconds of one decode sweep.
 *
 * @param residentBytes of its weights that stay in memory; the others are read
 * @param disk bytes per second
 * @param positions that the token attends to
 */
export function tokenSeconds(
  load: SweepLoad,
  { residentBytes, disk, positions }: { residentBytes: number; disk: number; positions: number },
): number {
  return Math.max((sweepBytes(load) - residentBytes) / disk, decodeSeconds(load, positions));
}

/** Seconds of arithmetic of one decode sweep: what it takes with everything in memory. */
export function decodeSeconds(load: SweepLoad, positions: number): number {
  const { layers, layerBytes, rehearsal } = load;
  const weights = (rehearsal.decode * sweepBytes(load)) / layerBytes;
  return weights + rehearsal.attention * positions * layers;
}

/**
 * Seconds of a token where sweeps verify guesses that cost nothing, as many as are best (docs/speculation.md): k of them bring
 * (1 - a^(k+1)) / (1 - a) tokens, in a sweep of k + 1 rows.
 *
 * @param acceptance a: probability that a guessed token holds, below 1
 */
export function guessedSeconds(
  load: SweepLoad,
  options: { residentBytes: number; disk: number; positions: number; acceptance: number },
): number {
  const { residentBytes, disk, positions, acceptance } = options;
  const { layerBytes, rehearsal } = load;
  const reading = (sweepBytes(load) - residentBytes) / disk;
  const one = decodeSeconds(load, positions);
  // Four rows share what is loaded for them; a few cost no less than one.
  const perRow =
    (rehearsal.prefill * sweepBytes(load)) / layerBytes + rehearsal.attention * positions * load.layers;
  const seconds = Array.from({ length: MAXIMUM_DRAFT + 1 }, (_, guessed) => {
    const arithmetic = Math.min(
      one * (guessed + 1),
      Math.max(one, perRow * Math.ceil((guessed + 1) / 4) * 4),
    );
    const tokens = (1 - acceptance ** (guessed + 1)) / (1 - acceptance);
    return Math.max(reading, arithmetic) / tokens;
  });
  return Math.min(...seconds);
}

/**
 * Seconds of the sweep of a prompt of so many tokens, of which only the last one wants logits.
 *
 * @param rows no more than fit into one sweep
 */
export function promptSeconds(
  load: SweepLoad,
  { rows, residentBytes, disk }: { rows: number; residentBytes: number; disk: number },
): number {
  const { layers, layerBytes, layersBytes, outputBytes, rehearsal } = load;
  const products = rehearsal.prefill * rows * (layersBytes / layerBytes);
  const output = (rehearsal.decode * outputBytes) / layerBytes;
  const attention = ((rehearsal.attention * rows * (rows - 1)) / 2) * layers;
  return Math.max((sweepBytes(load) - residentBytes) / disk, products + output + attention);
}
