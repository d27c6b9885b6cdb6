import type { Gguf, TensorInfo } from "../gguf/types.ts";
import { blockFormat } from "../quant/index.ts";
import type { Hyperparameters } from "./types.ts";

/**
 * The same file with tensors that hold several taken apart, so that all that comes after finds q, k, v, gate and up by
 * their names: a part is some whole rows, which lie together in the file.
 *
 * | in the file | rows |
 * | --- | --- |
 * | attn_qkv, weight and bias | q, k, v |
 * | ffn_up where ffn_gate is missing and it has twice its rows | gate, up |
 *
 * What has other rows than these stays as it is, and will not be found.
 */
export function takeApart(
  gguf: Gguf,
  { layers, headSize }: Pick<Hyperparameters, "layers" | "headSize">,
): Gguf {
  const tensors = new Map(gguf.tensors);
  for (const [index, { heads, kvHeads, feedForward }] of layers.entries()) {
    const name = (part: string) => `blk.${index}.${part}`;
    const split = (fused: string, parts: readonly (readonly [name: string, rows: number])[]) => {
      const tensor = gguf.tensors.get(fused);
      const pieces = tensor && cut(tensor, parts);
      if (pieces === undefined) return;
      tensors.delete(fused);
      for (const piece of pieces) tensors.set(piece.name, piece);
    };
    for (const kind of ["weight", "bias"])
      split(name(`attn_qkv.${kind}`), [
        [name(`attn_q.${kind}`), heads * headSize],
        [name(`attn_k.${kind}`), kvHeads * headSize],
        [name(`attn_v.${kind}`), kvHeads * headSize],
      ]);
    if (!gguf.tensors.has(name("ffn_gate.weight")))
      split(name("ffn_up.weight"), [
        [name("ffn_gate.weight"), feedForward],
        [name("ffn_up.weight"), feedForward],
      ]);
  }
  return { ...gguf, tensors };
}

function cut(
  tensor: TensorInfo,
  parts: readonly (readonly [name: string, rows: number])[],
): TensorInfo[] | undefined {
  const { type, shape } = tensor;
  // Of a vector each value is a row.
  const columns = shape.length > 1 ? shape[0] : 1;
  const { blockSize, blockBytes } = blockFormat(type, tensor.name);
  const rows = shape.reduce((product, size) => product * size, 1) / columns;
  if (columns % blockSize !== 0 || rows !== parts.reduce((sum, [, count]) => sum + count, 0))
    return undefined;
  const rowBytes = (columns / blockSize) * blockBytes;
  let first = 0;
  return parts.map(([name, count]) => {
    const offset = tensor.offset + first * rowBytes;
    first += count;
    const part = { shape: shape.length > 1 ? [columns, count] : [count], offset, bytes: count * rowBytes };
    return { ...tensor, ...part, name };
  });
}
