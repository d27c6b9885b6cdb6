/** Tensors as most architectures name them. */
import type { TensorSpec } from "../architecture.ts";

type Own = "attn_norm" | "attn_q" | "attn_k" | "attn_v" | "attn_output" | "ffn_norm" | "ffn_down";
type Norm = "attn_norm" | "attn_q_norm" | "attn_k_norm" | "ffn_norm";
type Biased = "attn_q" | "attn_k" | "attn_v";

export function matrix(role: Own, rows: number, columns: number): TensorSpec {
  return { role, sources: [`${role}.weight`], kind: "matrix", rows, columns };
}

/** The weight of a norm. */
export function vector(role: Norm, columns: number): TensorSpec {
  return { role, sources: [`${role}.weight`], kind: "vector", rows: 1, columns };
}

export function bias(role: Biased, columns: number): TensorSpec {
  return { role: `${role}_bias`, sources: [`${role}.bias`], kind: "vector", rows: 1, columns };
}

export function gateUp(rows: number, columns: number): TensorSpec {
  return {
    role: "ffn_gate_up",
    sources: ["ffn_gate.weight", "ffn_up.weight"],
    kind: "matrix",
    rows,
    columns,
  };
}
