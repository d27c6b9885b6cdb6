import type { AttentionShape, KvType } from "./types.ts";

/** Bytes of one value of a key or value vector. */
export function kvBytes(type: KvType): number {
  return type === "f32" ? 4 : 2;
}

/** Values from a key to the value vector of the same head and position. */
export function valueDistance({ kvHeads, blockPositions, headSize }: AttentionShape): number {
  return kvHeads * blockPositions * headSize;
}
