import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import type { KvType } from "../kernels/types.ts";
import type { Hyperparameters } from "../model/types.ts";
import { BLOCK_POSITIONS, kvLayerBytes } from "./kv-block.ts";

/**
 * Which layers' keys and values stay in memory: the first ones. Those of the others lie in a file, block by block, and
 * come into a window, a layer at a time, when it is that layer's turn.
 */
export interface KvSplit {
  /** Layers whose keys and values stay. */
  readonly residentLayers: number;
  /** Bytes of a block in memory, and in the file. */
  readonly residentBytes: number;
  readonly streamedBytes: number;
  /** For each layer: where its part of a block begins, in memory or in the block's part of the file. */
  readonly offsets: readonly number[];
  /** Of each layer: bytes of a block. */
  readonly layerBytes: readonly number[];
  /** Bytes of a block in the window: those of the largest layer that has none in memory; 0 where all do. */
  readonly windowBytes: number;
  /** Blocks that there can be at a time; Infinity where all layers stay. */
  readonly blocks: number;
}

/**
 * @param bytes that keys and values may take in memory, window included; undefined: what they need
 * @param positions of all sequences that there is to be room for
 * @throws SluiceError `bad-input` for fewer than the window of one layer
 */
export function splitKv(
  model: Hyperparameters,
  type: KvType,
  bytes: number | undefined,
  positions: number,
): KvSplit {
  const layerBytes = model.layers.map((_, layer) => kvLayerBytes(model, layer, type));
  const sum = (some: readonly number[]) => some.reduce((total, one) => total + one, 0);
  const blocks = Math.ceil(positions / BLOCK_POSITIONS);
  let resident = layerBytes.length;
  const windowOf = (first: number) => Math.max(0, ...layerBytes.slice(first));
  const bytesWith = (first: number) => blocks * (sum(layerBytes.slice(0, first)) + windowOf(first));
  while (bytes !== undefined && resident >= 0 && bytesWith(resident) > bytes) resident--;
  if (resident < 0)
    throw new SluiceError(
      "bad-input",
      `--kv-ram ${formatBytes(bytes!)} is less than one layer's keys and values of ${positions} tokens, ${formatBytes(bytesWith(0))}`,
      { next: "Give it more, or take a shorter context (-c) or smaller keys and values (--kv q8)." },
    );
  const offsets = layerBytes.map((_, layer) => sum(layerBytes.slice(layer < resident ? 0 : resident, layer)));
  return {
    residentLayers: resident,
    residentBytes: sum(layerBytes.slice(0, resident)),
    streamedBytes: sum(layerBytes.slice(resident)),
    ...{ offsets, layerBytes },
    windowBytes: windowOf(resident),
    blocks: resident === layerBytes.length ? Number.POSITIVE_INFINITY : blocks,
  };
}

/** Bytes of memory that so many positions take at most. */
export function kvMemoryBytes({ residentBytes, windowBytes }: KvSplit, positions: number): number {
  return Math.ceil(positions / BLOCK_POSITIONS) * (residentBytes + windowBytes);
}
