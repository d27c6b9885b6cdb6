import type { Architecture } from "../architecture.ts";
import { llama } from "./llama.ts";
import { vector } from "./tensors.ts";

/** Llama with a norm over every head of q and k, and pairs that lie half a head apart (llama.cpp, src/models/qwen3.cpp). */
export const qwen3: Architecture = {
  ...llama,
  name: "qwen3",
  ropeStyle: "neox",
  layerTensors: (layer, width, headSize) =>
    llama.layerTensors(layer, width, headSize).flatMap((spec) => {
      const { role } = spec;
      return role === "attn_q" || role === "attn_k" ? [spec, vector(`${role}_norm`, headSize)] : [spec];
    }),
};
