import type { Architecture } from "../architecture.ts";
import { bias, gateUp, matrix, optional, vector } from "./tensors.ts";

/**
 * Llama 1 to 3 and what was built alike (TinyLlama, Mistral 7B, SmolLM 1 and 2, …). Some have biases (Granite Code).
 */
export const llama: Architecture = {
  name: "llama",
  ropeStyle: "norm",
  layerTensors: ({ heads, kvHeads, feedForward }, width, headSize) => [
    vector("attn_norm", width),
    matrix("attn_q", heads * headSize, width),
    optional(bias("attn_q", heads * headSize)),
    matrix("attn_k", kvHeads * headSize, width),
    optional(bias("attn_k", kvHeads * headSize)),
    matrix("attn_v", kvHeads * headSize, width),
    optional(bias("attn_v", kvHeads * headSize)),
    matrix("attn_output", width, heads * headSize),
    optional(bias("attn_output", width)),
    vector("ffn_norm", width),
    optional(bias("ffn_gate", feedForward)),
    optional(bias("ffn_up", feedForward)),
    gateUp(feedForward, width),
    matrix("ffn_down", width, feedForward),
    optional(bias("ffn_down", width)),
  ],
};
