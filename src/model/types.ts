/** What differs from layer to layer. */
export interface LayerShape {
  readonly heads: number;
  readonly kvHeads: number;
  readonly feedForward: number;
  /** Whether q and k of this layer are rotated (SmolLM3 leaves out every fourth). */
  readonly rope: boolean;
  /** Positions that a row attends to, its own the last of them; absent: all. */
  readonly window?: number;
}

export const ROPE_STYLES = ["norm", "neox"] as const;
export type RopeStyle = (typeof ROPE_STYLES)[number];

export interface RopeParameters {
  /** Leading values of each head that are rotated, in pairs. */
  readonly dimensions: number;
  /** Which values make a pair, as ggml calls it: norm (2i, 2i+1), neox (i, i + dimensions/2). */
  readonly style: RopeStyle;
  /** θ of pair i is base^(-2i/dimensions). */
  readonly base: number;
  /** Linear scaling: positions are multiplied by this (1 = none). */
  readonly positionScale: number;
  /** θ of pair i is divided by factors[i]: Llama 3's (tensor rope_freqs.weight), yarn's, or longrope's for short contexts. */
  readonly factors?: readonly number[];
  /** Longrope: what divides instead where the context is longer than `shortContext`. */
  readonly longFactors?: readonly number[];
  readonly shortContext?: number;
  /** What is rotated is also multiplied by this (absent = 1). */
  readonly magnitude?: number;
}

export const NORMS = ["rms", "layer"] as const;
/** RMSNorm, or LayerNorm: less the mean, and with a bias. */
export type Norm = (typeof NORMS)[number];

export const ACTIVATIONS = ["silu", "gelu"] as const;
export type Activation = (typeof ACTIVATIONS)[number];

export const HEAD_NORMS = ["each", "row"] as const;
/** Norms of q and k with weights of each head's own, or over all heads together. */
export type HeadNorm = (typeof HEAD_NORMS)[number];

/** Attention that grows sharper with the position: q is multiplied by 1 + scale × ln(1 + floor(position / positions)). */
export interface Temperature {
  readonly scale: number;
  readonly positions: number;
}

/** Where a model departs from Llama. All of it may be absent. */
export interface Departures {
  /** Absent: rms. */
  readonly norm?: Norm;
  /** Of the feed-forward; absent: silu. */
  readonly activation?: Activation;
  /** Absent: one weight for all heads, each normalized by itself. */
  readonly headNorm?: HeadNorm;
  /** Attention and feed-forward both read the norm before attention. */
  readonly parallel?: boolean;
  /** Rotation in the layers that have a window, where it is another. */
  readonly localRope?: RopeParameters;
  readonly temperature?: Temperature;
  /** Embeddings are multiplied by this. */
  readonly embeddingScale?: number;
  /** What attention and feed-forward add to the residual stream is multiplied by this first. */
  readonly residualScale?: number;
  /** Products of q and k are multiplied by this; absent: 1 / sqrt(headSize). */
  readonly attentionScale?: number;
  /** Soft-capping of these products s, and of logits: cap × tanh(s / cap). */
  readonly attentionCap?: number;
  readonly logitCap?: number;
  /** Logits are multiplied by this. */
  readonly logitScale?: number;
}

/** Everything about a model but its weights and its vocabulary. Stored in the manifest as it is. */
export interface Hyperparameters extends Departures {
  /** As in `general.architecture`. */
  readonly architecture: string;
  /** As in `general.name`; the file's name where that is absent. */
  readonly name: string;
  /** Context that the model was trained for. */
  readonly contextLength: number;
  /** Embedding length: the width of the residual stream. */
  readonly width: number;
  /** Values per attention head (query, key and value alike). */
  readonly headSize: number;
  /** Rows of the embedding and of the output matrix. */
  readonly vocabulary: number;
  readonly normEpsilon: number;
  readonly rope: RopeParameters;
  readonly layers: readonly LayerShape[];
  /** Whether the embedding serves as the output matrix. */
  readonly tiedOutput: boolean;
}

/** Names of the stored tensors, as the engine asks for them. */
export type TensorRole =
  | "token_embd"
  | "attn_norm"
  | "attn_norm_bias"
  | "attn_q"
  | "attn_q_bias"
  | "attn_q_norm"
  | "attn_k"
  | "attn_k_bias"
  | "attn_k_norm"
  | "attn_v"
  | "attn_v_bias"
  | "attn_output"
  | "attn_output_bias"
  | "attn_post_norm"
  | "ffn_norm"
  | "ffn_norm_bias"
  | "ffn_gate_bias"
  | "ffn_up_bias"
  | "ffn_gate_up"
  | "ffn_up"
  | "ffn_down"
  | "ffn_down_bias"
  | "ffn_post_norm"
  | "output_norm"
  | "output_norm_bias"
  | "output";

/**
 * One tensor as it will be stored: where it comes from and its shape.
 * Several sources of one shape are interleaved panel by panel (gate and up); `rows` counts the rows of all.
 */
export interface TensorPlan {
  readonly role: TensorRole;
  /** Names in the model file, and types there as ggml calls them. */
  readonly sources: readonly string[];
  readonly sourceTypes: readonly string[];
  /** A vector is stored as it is; a matrix in panels of rows. */
  readonly kind: "vector" | "matrix";
  readonly rows: number;
  readonly columns: number;
}

/** All tensors of a model by the file they go to, in the order of use. */
export interface ModelPlan {
  readonly model: Hyperparameters;
  readonly embedding: TensorPlan;
  readonly layers: readonly (readonly TensorPlan[])[];
  /** output_norm and, when untied, output. */
  readonly output: readonly TensorPlan[];
}
