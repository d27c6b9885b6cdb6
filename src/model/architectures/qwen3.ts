import type { Architecture } from "../architecture.ts";
import { llama } from "./llama.ts";
import { behind, vector } from "./tensors.ts";

/** Llama with a norm over every head of q and k, and pairs that lie half a head apart (llama.cpp, src/models/qwen3.cpp). */
export const qwen3: Architecture = {
  ...llama,
  name: "qwen3",
  ropeStyle: "neox",
  layerTensors: (layer, width, headSize) =>
    behind(llama.layerTensors(layer, width, headSize), {
      attn_q_bias: [vector("attn_q_norm", headSize)],
      attn_k_bias: [vector("attn_k_norm", headSize)],
    }),
};
