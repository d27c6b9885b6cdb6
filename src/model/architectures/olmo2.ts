import type { Architecture } from "../architecture.ts";
import { withPostNorms } from "./gemma2.ts";
import { llama } from "./llama.ts";
import { behind, vector } from "./tensors.ts";
import { readWindow } from "./window.ts";

/**
 * Llama with norms behind attention and feed-forward, none before them, and norms over all heads of q and of k together;
 * Olmo 3, which goes by the same name, has a window in three of four layers (llama.cpp, src/models/olmo2.cpp).
 */
export const olmo2: Architecture = {
  ...llama,
  name: "olmo2",
  ropeStyle: "neox",
  describe(reader, outline) {
    const window = readWindow(reader, outline, 4);
    const { dimensions, style, base } = outline.rope;
    return {
      departures: {
        headNorm: "row",
        ...(window.window && { localRope: { dimensions, style, base, positionScale: 1 } }),
      },
      ...window,
    };
  },
  layerTensors: (layer, width, headSize) => {
    const { heads, kvHeads } = layer;
    const specs = llama
      .layerTensors(layer, width, headSize)
      .filter(({ role }) => role !== "attn_norm" && role !== "ffn_norm");
    return behind(withPostNorms(specs, width), {
      attn_q_bias: [vector("attn_q_norm", heads * headSize)],
      attn_k_bias: [vector("attn_k_norm", kvHeads * headSize)],
    });
  },
};
