/** What differs from layer to layer. */
export interface LayerShape {
  readonly heads: number;
  readonly kvHeads: number;
  readonly feedForward: number;
  /** Whether q and k of this layer are rotated (SmolLM3 leaves out every fourth). */
  readonly rope: boolean;
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
  /** Llama 3 scaling: θ of pair i is divided by factors[i] (tensor rope_freqs.weight). */
  readonly factors?: readonly number[];
}

/** Everything about a model but its weights and its vocabulary. Stored in the manifest as it is. */
export interface Hyperparameters {
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
  | "attn_q"
  | "attn_q_bias"
  | "attn_q_norm"
  | "attn_k"
  | "attn_k_bias"
  | "attn_k_norm"
  | "attn_v"
  | "attn_v_bias"
  | "attn_output"
  | "ffn_norm"
  | "ffn_gate_up"
  | "ffn_down"
  | "output_norm"
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
