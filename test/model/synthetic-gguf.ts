import { alignUp } from "../../src/gguf/tensor-table.ts";
import type { Gguf, MetadataValue, TensorInfo } from "../../src/gguf/types.ts";

export type Values = Record<string, MetadataValue | number[] | undefined>;

export const uint32 = (value: number): MetadataValue => ({ type: "uint32", value });
export const int32 = (value: number): MetadataValue => ({ type: "int32", value });
export const float32 = (value: number): MetadataValue => ({ type: "float32", value });
export const string = (value: string): MetadataValue => ({ type: "string", value });

const TINY: Values = {
  "general.architecture": string("llama"),
  "llama.block_count": uint32(2),
  "llama.context_length": uint32(128),
  "llama.embedding_length": uint32(32),
  "llama.feed_forward_length": uint32(64),
  "llama.attention.head_count": uint32(4),
  "llama.attention.head_count_kv": uint32(2),
  "llama.attention.layer_norm_rms_epsilon": float32(0.5),
};

const LAYER: Record<string, number[]> = {
  attn_norm: [32],
  attn_q: [32, 32],
  attn_k: [32, 16],
  attn_v: [32, 16],
  attn_output: [32, 32],
  ffn_norm: [32],
  ffn_gate: [32, 64],
  ffn_up: [32, 64],
  ffn_down: [64, 32],
};

/**
 * An open model of two layers that is in memory only. Metadata is changed by `values` (an array of numbers is one of
 * int32), tensors by `tensors`: a shape, or undefined to leave the tensor out.
 */
export function syntheticGguf(
  values: Values = {},
  tensors: Record<string, number[] | undefined> = {},
  type: Record<string, string> = {},
  data: Record<string, Float32Array> = {},
): Gguf {
  const bytes: Uint8Array[] = [];
  let position = 0;
  const append = (content: Uint8Array) => {
    bytes.push(content, new Uint8Array(alignUp(content.length, 32) - content.length));
    position += alignUp(content.length, 32);
    return position - alignUp(content.length, 32);
  };

  const metadata = new Map<string, MetadataValue>();
  for (const [key, value] of Object.entries({ ...TINY, ...values })) {
    if (Array.isArray(value)) {
      const offset = append(new Uint8Array(Int32Array.from(value).buffer));
      metadata.set(key, {
        type: "array",
        items: "int32",
        length: value.length,
        offset,
        bytes: value.length * 4,
      });
    } else if (value !== undefined) metadata.set(key, value);
  }

  const shapes: Record<string, number[] | undefined> = {
    "token_embd.weight": [32, 100],
    "output_norm.weight": [32],
  };
  for (const layer of [0, 1]) {
    for (const [name, shape] of Object.entries(LAYER)) shapes[`blk.${layer}.${name}.weight`] = shape;
  }
  const infos = new Map<string, TensorInfo>();
  for (const [name, shape] of Object.entries({ ...shapes, ...tensors })) {
    if (shape === undefined) continue;
    const content = new Uint8Array((data[name] ?? new Float32Array(0)).buffer);
    infos.set(name, {
      name,
      type: type[name] ?? "f32",
      shape,
      offset: append(content),
      bytes: content.length,
    });
  }

  const file = Buffer.concat(bytes);
  const read = (offset: number, target: Uint8Array) =>
    void target.set(file.subarray(offset, offset + target.length));
  return {
    path: "folder/test.gguf",
    fileBytes: file.length,
    version: 3,
    alignment: 32,
    headerBytes: 0,
    parts: [],
    metadata,
    tensors: infos,
    read,
    close: () => {},
  };
}
