import type { Architecture } from "../architecture.ts";
import { bias, matrix, vector } from "./tensors.ts";

/** LayerNorms, biases everywhere, and GELU without a gate (llama.cpp, src/models/starcoder2.cpp). */
export const starcoder2: Architecture = {
  name: "starcoder2",
  ropeStyle: "neox",
  outputBias: true,
  describe: () => ({ departures: { norm: "layer", activation: "gelu" } }),
  layerTensors: ({ heads, kvHeads, feedForward }, width, headSize) => [
    vector("attn_norm", width),
    bias("attn_norm", width),
    matrix("attn_q", heads * headSize, width),
    bias("attn_q", heads * headSize),
    matrix("attn_k", kvHeads * headSize, width),
    bias("attn_k", kvHeads * headSize),
    matrix("attn_v", kvHeads * headSize, width),
    bias("attn_v", kvHeads * headSize),
    matrix("attn_output", width, heads * headSize),
    bias("attn_output", width),
    vector("ffn_norm", width),
    bias("ffn_norm", width),
    bias("ffn_up", feedForward),
    matrix("ffn_up", feedForward, width),
    matrix("ffn_down", width, feedForward),
    bias("ffn_down", width),
  ],
};
