import type { Architecture } from "../architecture.ts";
import { llama } from "./llama.ts";
import { behind, bias, optional, vector } from "./tensors.ts";

/**
 * Llama with LayerNorms and, of each head, only a part rotated. StableLM 2 12B has norms of each head's own and, without
 * a norm before the feed-forward, computes it beside attention (llama.cpp, src/models/stablelm.cpp).
 */
export const stablelm: Architecture = {
  ...llama,
  name: "stablelm",
  ropeStyle: "neox",
  partialRope: true,
  outputBias: true,
  describe: (_, { has }) => ({
    departures: {
      norm: "layer",
      headNorm: "each",
      ...(!has("blk.0.ffn_norm.weight") && { parallel: true }),
    },
  }),
  layerTensors: (layer, width, headSize) => {
    const { heads, kvHeads } = layer;
    const specs = llama.layerTensors(layer, width, headSize);
    return behind(
      specs.map((spec) => (spec.role === "ffn_norm" ? optional(spec) : spec)),
      {
        attn_norm: [bias("attn_norm", width)],
        attn_q_bias: [optional(vector("attn_q_norm", heads * headSize))],
        attn_k_bias: [optional(vector("attn_k_norm", kvHeads * headSize))],
        ffn_norm: [optional(bias("ffn_norm", width))],
      },
    );
  },
};
