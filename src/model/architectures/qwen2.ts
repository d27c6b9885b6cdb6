import type { Architecture } from "../architecture.ts";
import { llama } from "./llama.ts";

const BIASED = ["attn_q_bias", "attn_k_bias", "attn_v_bias"];

/** Llama with biases on q, k and v, and pairs that lie half a head apart (Qwen 1.5 to 2.5; llama.cpp, src/models/qwen2.cpp). */
export const qwen2: Architecture = {
  ...llama,
  name: "qwen2",
  ropeStyle: "neox",
  layerTensors: (...shape) =>
    llama.layerTensors(...shape).map(({ optional, ...spec }) => {
      return BIASED.includes(spec.role) || optional === undefined ? spec : { ...spec, optional };
    }),
};
