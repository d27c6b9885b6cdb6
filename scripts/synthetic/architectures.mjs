// @ts-check
/** What the architectures' files have that Llama's have not. */

/**
 * @typedef {object} Traits
 * @property {"rms" | "layer"} [norm] layer: with biases, and the epsilon of another key
 * @property {boolean} [before] false: no norms before attention and feed-forward
 * @property {boolean} [behind] norms behind attention and feed-forward
 * @property {"shared" | "each" | "row"} [headNorm] of q and k: one weight for all heads, each head's own, or over the row
 * @property {readonly string[]} [biases] products that have one
 * @property {boolean} [gate] false: no ffn_gate
 * @property {readonly ("qkv" | "gateUp")[]} [fused] what is one tensor
 * @property {boolean} [tied] never with an output matrix
 * @property {readonly (readonly [key: string, value: number])[]} [floats] metadata
 * @property {readonly (readonly [key: string, value: number])[]} [integers]
 */

const QKV = ["attn_q", "attn_k", "attn_v"];

/** @type {Readonly<Record<string, Traits>>} */
export const ARCHITECTURES = {
  llama: {},
  smollm3: {},
  qwen2: { biases: QKV },
  qwen3: { headNorm: "shared" },
  mistral3: {},
  internlm2: {},
  granite: {
    floats: [
      ["embedding_scale", 6],
      ["residual_scale", 0.4],
      ["attention.scale", 0.2],
      ["logit_scale", 1.5],
    ],
  },
  gemma: { tied: true },
  gemma2: {
    tied: true,
    behind: true,
    floats: [
      ["attn_logit_softcapping", 5],
      ["final_logit_softcapping", 4],
    ],
    integers: [["attention.sliding_window", 7]],
  },
  gemma3: {
    tied: true,
    behind: true,
    headNorm: "shared",
    floats: [["rope.freq_base_swa", 500]],
    integers: [["attention.sliding_window", 7]],
  },
  phi3: { fused: ["qkv", "gateUp"] },
  olmo2: { before: false, behind: true, headNorm: "row" },
  stablelm: { norm: "layer" },
  starcoder2: { norm: "layer", gate: false, biases: [...QKV, "attn_output", "ffn_up", "ffn_down"] },
};
