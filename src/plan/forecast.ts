/** The law that rules speed, docs/architecture.md: a sweep takes as long as the slower of disk and arithmetic. */
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
