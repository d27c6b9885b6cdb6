// @ts-check
/** Synthetic models of every architecture and of what its files may have, for tests and for llama.cpp. */

/** @typedef {Partial<import("../../scripts/synthetic/model.mjs").Shape> & { contextLength?: number }} Case */

const float = (/** @type {number} */ value) => /** @type {const} */ ({ type: "float32", value });
const integer = (/** @type {number} */ value) => /** @type {const} */ ({ type: "uint32", value });
const string = (/** @type {string} */ value) => /** @type {const} */ ({ type: "string", value });

const QKV = ["attn_q", "attn_k", "attn_v"];
const LONGROPE = {
  ...{ arch: "phi3", longrope: true, context: 2048, ropeDimensions: 12 },
  metadata: {
    "rope.scaling.type": string("longrope"),
    "rope.scaling.original_context_length": integer(300),
    "rope.scaling.attn_factor": float(1.19),
    // Counts for nothing.
    "attention.sliding_window": integer(8),
  },
};
const yarn = (/** @type {number} */ factor, /** @type {number} */ context) => ({
  "rope.scaling.type": string("yarn"),
  "rope.scaling.factor": float(factor),
  "rope.scaling.original_context_length": integer(context),
});
const LINEAR = { "rope.scaling.type": string("linear"), "rope.scaling.factor": float(8) };

const ODD = { type: "f32", width: 60, heads: 6, kvHeads: 3, feedForward: 101, vocabulary: 499 };

/** @type {Readonly<Record<string, Case>>} */
export const CASES = {
  llama: { arch: "llama" },
  "llama with biases": {
    arch: "llama",
    traits: { biases: [...QKV, "attn_output", "ffn_gate", "ffn_up", "ffn_down"] },
  },
  "llama, linear": { arch: "llama", metadata: LINEAR },
  "llama, yarn": {
    arch: "llama",
    metadata: { ...yarn(4, 32), "rope.scaling.attn_factor": float(1.1) },
  },
  smollm3: { arch: "smollm3" },
  qwen2: { arch: "qwen2" },
  qwen3: { arch: "qwen3" },
  internlm2: { arch: "internlm2", untied: true },
  mistral3: { arch: "mistral3" },
  "mistral3, sharper with the position": {
    arch: "mistral3",
    metadata: {
      ...yarn(16, 16),
      "attention.temperature_scale": float(0.3),
      "rope.scaling.yarn_log_multiplier": float(1),
      "rope.scaling.yarn_beta_fast": float(8),
      "rope.scaling.yarn_beta_slow": float(2),
    },
  },
  granite: { arch: "granite" },
  "granite without rotation": {
    arch: "granite",
    metadata: { "rope.scaling.finetuned": { type: "bool", value: false } },
  },
  gemma: { arch: "gemma" },
  gemma2: { arch: "gemma2" },
  gemma3: { arch: "gemma3", layers: 7, metadata: LINEAR },
  "gemma3 without windows": { arch: "gemma3", metadata: { "attention.sliding_window": integer(0) } },
  phi3: { arch: "phi3" },
  "phi3 with q, k and v apart": { arch: "phi3", traits: { fused: ["gateUp"] } },
  "phi3, longrope in a short context": { ...LONGROPE, contextLength: 256 },
  "phi3, longrope in a long context": { ...LONGROPE, contextLength: 512 },
  olmo2: { arch: "olmo2", untied: true },
  "olmo2 with windows": {
    ...{ arch: "olmo2", untied: true, layers: 5 },
    metadata: { ...yarn(8, 64), "attention.sliding_window": integer(9) },
  },
  stablelm: { arch: "stablelm", untied: true, ropeDimensions: 4 },
  "stablelm, parallel": {
    ...{ arch: "stablelm", untied: true, ropeDimensions: 8, parallel: true },
    traits: { headNorm: "each", biases: QKV },
  },
  starcoder2: { arch: "starcoder2" },
  "starcoder2 of sizes that fill no panel": { arch: "starcoder2", ...ODD },
  "gemma2 of sizes that fill no panel": { arch: "gemma2", ...ODD },
  "olmo2 of sizes that fill no panel": { arch: "olmo2", untied: true, ...ODD },
  "stablelm, parallel, of sizes that fill no panel": {
    ...{ arch: "stablelm", untied: true, parallel: true, ropeDimensions: 6, ...ODD },
  },
};

/** Ids that each of them reads: longer than their windows, and than a block of KV cache. */
export const IDS = Array.from({ length: 90 }, (_, i) => (i * i * 7 + i * 31 + 5) % 490);
/** Where llama.cpp's answers are recorded, and of which tokens. */
export const POSITIONS = [0, 6, 40, 75, 89];
export const TOKENS = Array.from({ length: 32 }, (_, i) => i * 15);
