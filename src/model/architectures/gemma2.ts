import type { Architecture } from "../architecture.ts";
import { gemma } from "./gemma.ts";
import { llama } from "./llama.ts";
import { behind, vector } from "./tensors.ts";
import { readWindow } from "./window.ts";

/** llama.cpp's window where `attention.sliding_window` is absent, and its caps where those are. */
const DEFAULTS = { window: 4096, attentionCap: 50, logitCap: 30 };
/** The one size that divides by its width in place of its heads' size: Gemma 2 27B. */
const LAYERS_27B = 46;

/**
 * Gemma with norms of what goes into the residual stream, soft-capping, and a window in every other layer
 * (llama.cpp, src/models/gemma2.cpp).
 */
export const gemma2: Architecture = {
  ...gemma,
  name: "gemma2",
  describe(reader, outline) {
    const { layers, width, heads, rope } = outline;
    const base = reader.positive("rope.freq_base_swa") ?? rope.base;
    return {
      departures: {
        ...gemma.describe!(reader, outline).departures,
        ...(layers === LAYERS_27B && { attentionScale: 1 / Math.sqrt(Math.floor(width / heads)) }),
        attentionCap: reader.positive("attn_logit_softcapping") ?? DEFAULTS.attentionCap,
        logitCap: reader.positive("final_logit_softcapping") ?? DEFAULTS.logitCap,
        ...(base !== rope.base && { localRope: { ...rope, base } }),
      },
      ...readWindow(reader, outline, 2, DEFAULTS.window),
    };
  },
  layerTensors: (layer, width, headSize) => withPostNorms(llama.layerTensors(layer, width, headSize), width),
};

/** Norms behind attention and feed-forward. */
export function withPostNorms(specs: ReturnType<Architecture["layerTensors"]>, width: number) {
  return behind(specs, {
    attn_output_bias: [vector("attn_post_norm", width)],
    ffn_down_bias: [vector("ffn_post_norm", width)],
  });
}
