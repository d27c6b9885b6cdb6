import type { Architecture } from "../architecture.ts";
import { llama } from "./llama.ts";
import { bias } from "./tensors.ts";

/** Llama with biases on q, k and v, and pairs that lie half a head apart (Qwen 1.5 to 2.5; llama.cpp, src/models/qwen2.cpp). */
export const qwen2: Architecture = {
  ...llama,
  name: "qwen2",
  ropeStyle: "neox",
  layerTensors: (...shape) =>
    llama.layerTensors(...shape).flatMap((spec) => {
      const { role, rows } = spec;
      return role === "attn_q" || role === "attn_k" || role === "attn_v" ? [spec, bias(role, rows)] : [spec];
    }),
};
