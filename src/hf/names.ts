/** What tensors of Hugging Face are called in GGUF (llama.cpp, gguf-py/gguf/tensor_mapping.py). */

const MODEL: Readonly<Record<string, string>> = {
  "model.embed_tokens": "token_embd",
  "model.norm": "output_norm",
  lm_head: "output",
};
const LAYER: Readonly<Record<string, string>> = {
  input_layernorm: "attn_norm",
  post_attention_layernorm: "ffn_norm",
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  "self_attn.q_norm": "attn_q_norm",
  "self_attn.k_norm": "attn_k_norm",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.down_proj": "ffn_down",
};

/** The name in GGUF; null for what is left out there; undefined for what is not known. */
export function ggufName(name: string): string | null | undefined {
  // Angles, which follow from the configuration.
  if (name.endsWith("rotary_emb.inv_freq")) return null;
  const [, stem, kind] = /^(.*)\.(weight|bias)$/.exec(name) ?? [];
  if (stem === undefined) return undefined;
  if (Object.hasOwn(MODEL, stem)) return `${MODEL[stem]}.${kind}`;
  const [, layer, role] = /^model\.layers\.(\d+)\.(.*)$/.exec(stem) ?? [];
  return role !== undefined && Object.hasOwn(LAYER, role)
    ? `blk.${Number(layer)}.${LAYER[role]}.${kind}`
    : undefined;
}
