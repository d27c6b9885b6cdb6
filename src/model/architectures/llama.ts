import type { Architecture, TensorSpec } from "../architecture.ts";

/** Llama 1 to 3 and what was built alike (TinyLlama, Mistral 7B, SmolLM 1 and 2, …). */
export const llama: Architecture = {
  name: "llama",
  rope: () => true,
  layerTensors: ({ heads, kvHeads, feedForward }, width, headSize) => [
    vector("attn_norm", width),
    matrix("attn_q", heads * headSize, width),
    matrix("attn_k", kvHeads * headSize, width),
    matrix("attn_v", kvHeads * headSize, width),
    matrix("attn_output", width, heads * headSize),
    vector("ffn_norm", width),
    {
      role: "ffn_gate_up",
      sources: ["ffn_gate.weight", "ffn_up.weight"],
      kind: "matrix",
      rows: feedForward,
      columns: width,
    },
    matrix("ffn_down", width, feedForward),
  ],
};

type OwnNamed = "attn_norm" | "attn_q" | "attn_k" | "attn_v" | "attn_output" | "ffn_norm" | "ffn_down";

const matrix = (role: OwnNamed, rows: number, columns: number): TensorSpec => ({
  role,
  sources: [`${role}.weight`],
  kind: "matrix",
  rows,
  columns,
});

const vector = (role: OwnNamed, columns: number): TensorSpec => ({
  ...matrix(role, 1, columns),
  kind: "vector",
});
