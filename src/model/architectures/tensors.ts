/** Tensors as most architectures name them. */
import type { TensorSpec } from "../architecture.ts";
import type { TensorRole } from "../types.ts";

/** Names in the model file of roles that are called otherwise there. */
const NAMES: Partial<Record<TensorRole, string>> = {
  attn_post_norm: "post_attention_norm.weight",
  ffn_post_norm: "post_ffw_norm.weight",
};

type Matrix = "attn_q" | "attn_k" | "attn_v" | "attn_output" | "ffn_up" | "ffn_down";
type Norm = "attn_norm" | "attn_q_norm" | "attn_k_norm" | "attn_post_norm" | "ffn_norm" | "ffn_post_norm";
type Biased =
  | "attn_norm"
  | "attn_q"
  | "attn_k"
  | "attn_v"
  | "attn_output"
  | "ffn_norm"
  | "ffn_gate"
  | "ffn_up"
  | "ffn_down";

export function matrix(role: Matrix, rows: number, columns: number): TensorSpec {
  return { role, sources: [`${role}.weight`], kind: "matrix", rows, columns };
}

/** The weight of a norm. */
export function vector(role: Norm, columns: number): TensorSpec {
  return { role, sources: [NAMES[role] ?? `${role}.weight`], kind: "vector", rows: 1, columns };
}

export function bias(role: Biased, columns: number): TensorSpec {
  return { role: `${role}_bias`, sources: [`${role}.bias`], kind: "vector", rows: 1, columns };
}

/** The same where it is there. */
export function optional(spec: TensorSpec): TensorSpec {
  return { ...spec, optional: true };
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

/** Tensors put behind those of some roles. */
export function behind(
  specs: readonly TensorSpec[],
  added: Partial<Record<TensorRole, readonly TensorSpec[]>>,
): TensorSpec[] {
  return specs.flatMap((spec) => [spec, ...(added[spec.role] ?? [])]);
}
