import type { Architecture } from "../architecture.ts";
import { gateUp, matrix, vector } from "./tensors.ts";

/** Llama 1 to 3 and what was built alike (TinyLlama, Mistral 7B, SmolLM 1 and 2, …). */
export const llama: Architecture = {
  name: "llama",
  rope: () => true,
  ropeStyle: "norm",
  layerTensors: ({ heads, kvHeads, feedForward }, width, headSize) => [
    vector("attn_norm", width),
    matrix("attn_q", heads * headSize, width),
    matrix("attn_k", kvHeads * headSize, width),
    matrix("attn_v", kvHeads * headSize, width),
    matrix("attn_output", width, heads * headSize),
    vector("ffn_norm", width),
    gateUp(feedForward, width),
    matrix("ffn_down", width, feedForward),
  ],
};
