import { headBytes } from "../kernels/kv-layout.ts";
import type { AttentionShape, KvType } from "../kernels/types.ts";
import type { Hyperparameters } from "../model/types.ts";
import { type KvSplit, splitKv } from "./kv-split.ts";

/** Positions in a block: the step in which a KV cache grows. */
export const BLOCK_POSITIONS = 64;

/**
 * Version of what the bytes of a block mean for a given type. Raised whenever kernels arrange keys and values in another
 * way: blocks that were saved before are useless then.
 */
export const KV_FORMAT = 1;

/** A block of a sequence as it is in memory. */
export interface KvBlock {
  /** Equal stamps of blocks whose positions are all in use mean equal bytes. */
  readonly stamp: number;
  /** View into the engine's (shared) memory, or a copy of what is on disk: valid until the next sweep or cut. */
  readonly bytes: Uint8Array;
}

/** Bytes of keys and values of one layer in a block. */
export function kvLayerBytes(model: Hyperparameters, layer: number, type: KvType): number {
  return 2 * model.layers[layer].kvHeads * headBytes(type, model.headSize, BLOCK_POSITIONS);
}

/** Bytes of a block: 64 positions of every layer. */
export function kvBlockBytes(model: Hyperparameters, type: KvType): number {
  return model.layers.reduce((sum, _, layer) => sum + kvLayerBytes(model, layer, type), 0);
}

/** Of each layer. What is not in memory lies in the window by itself. */
export function attentionShapes(
  model: Hyperparameters,
  kvType: KvType,
  { residentLayers, offsets }: Pick<KvSplit, "residentLayers" | "offsets"> = splitKv(
    model,
    kvType,
    undefined,
    0,
  ),
): AttentionShape[] {
  const { attentionScale, attentionCap } = model;
  return model.layers.map(({ heads, kvHeads, window }, layer) => {
    return {
      heads,
      kvHeads,
      headSize: model.headSize,
      kvType,
      blockPositions: BLOCK_POSITIONS,
      layerOffset: layer < residentLayers ? offsets[layer] : 0,
      ...(attentionScale !== undefined && { scale: attentionScale }),
      ...(attentionCap !== undefined && { cap: attentionCap }),
      ...(window !== undefined && { window }),
    };
  });
}
