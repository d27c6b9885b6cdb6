// @ts-check
/** Synthetic models: sound GGUF files of any shape whose weights are random. */

import { GgufWriter } from "../../dist/gguf/writer.js";
import { ARCHITECTURES } from "./architectures.mjs";
import { CHATML, merges, specialIds, tokens, tokenTypes } from "./vocabulary.mjs";
import { weights } from "./weights.mjs";

/**
 * @typedef {import("../../dist/gguf/writer.js").MetadataInput} MetadataInput
 * @typedef {object} Shape
 * @property {string} arch one of `ARCHITECTURES`
 * @property {import("./architectures.mjs").Traits} [traits] where it departs from others of its architecture
 * @property {Readonly<Record<string, MetadataInput>>} [metadata] more of it, by keys after the architecture's name
 * @property {boolean} [parallel] no norm before the feed-forward, which computes beside attention
 * @property {boolean} [longrope] factors of frequencies for short and for long contexts
 * @property {string} type tensor type of the matrices
 * @property {Readonly<Record<string, string>>} [types] types of those that differ, by name (`attn_q`, …)
 * @property {number} layers
 * @property {number} width
 * @property {number} feedForward
 * @property {number} heads
 * @property {number} kvHeads
 * @property {number} vocabulary
 * @property {number} context
 * @property {boolean} untied whether there is an output matrix apart from the embedding
 * @property {number} [ropeDimensions] values of a head that are rotated; default: all
 * @property {number} seed
 */

/** @type {Readonly<Record<string, Shape>>} */
export const PRESETS = {
  tiny: {
    arch: "smollm3",
    type: "q8_0",
    layers: 4,
    width: 64,
    feedForward: 192,
    heads: 4,
    kvHeads: 2,
    vocabulary: 512,
    context: 512,
    untied: false,
    seed: 1,
  },
  "smollm3-3b": {
    arch: "smollm3",
    type: "q8_0",
    layers: 36,
    width: 2048,
    feedForward: 11008,
    heads: 16,
    kvHeads: 4,
    vocabulary: 128_256,
    context: 65_536,
    untied: false,
    seed: 1,
  },
};

/** `general.file_type` by tensor type (llama.h, `enum llama_ftype`). @type {Readonly<Record<string, number>>} */
const FILE_TYPES = { f32: 0, f16: 1, q4_0: 2, q4_1: 3, q8_0: 7, q5_0: 8, q5_1: 9, bf16: 32 };

/** Spread of the logits: some tokens stand out, none is certain. */
const LOGIT_DEVIATION = 3;
/** Embeddings are small beside what the layers add, or a tied model would repeat the last token for ever. */
const EMBEDDING = 0.5;
/** Smaller values inside a layer let the matrices behind them be larger: f16 scales of Q8_0 stay above 2^-14. */
const INNER = 1 / 3;

/**
 * Write a model file. Memory stays small whatever the size; the same shape gives the same bytes.
 *
 * @param {string} path
 * @param {Shape} shape
 * @param {(written: number, total: number, name: string) => void} [onTensor] called after each tensor
 */
export function makeModel(path, shape, onTensor) {
  const tensors = [...listTensors(shape)];
  const writer = new GgufWriter(path, { metadata: metadata(shape), tensors });
  try {
    tensors.forEach(({ name, type, shape: dimensions, ...distribution }, index) => {
      const count = dimensions.reduce((product, size) => product * size, 1);
      for (const bytes of weights(type, count, distribution, shape.seed * 65_536 + index))
        writer.write(bytes);
      onTensor?.(index + 1, tensors.length, name);
    });
  } catch (error) {
    writer.abort();
    throw error;
  }
  writer.close();
}

/**
 * Tensors with the spread of their weights, chosen so that the residual stream keeps its size however many layers
 * there are.
 *
 * @param {Shape} shape
 */
function* listTensors({
  arch,
  traits,
  parallel = false,
  longrope = false,
  type,
  types = {},
  layers,
  width,
  feedForward,
  heads,
  kvHeads,
  vocabulary,
  untied,
  ropeDimensions = width / heads,
}) {
  const kvWidth = (width / heads) * kvHeads;
  const {
    before = true,
    behind,
    headNorm,
    biases,
    gate = true,
    fused = [],
    tied,
    ...kind
  } = {
    ...ARCHITECTURES[arch],
    ...traits,
  };
  const matrix = (
    /** @type {string} */ name,
    /** @type {number} */ columns,
    /** @type {number} */ rows,
    gain = 1,
  ) => ({
    name: `${name}.weight`,
    type: types[name.replace(/^blk\.\d+\./, "")] ?? type,
    shape: [columns, rows],
    mean: 0,
    deviation: gain / Math.sqrt(columns),
  });
  const bias = (/** @type {string} */ name, /** @type {number} */ size, deviation = 0.5) => ({
    name: `${name}.bias`,
    type: "f32",
    shape: [size],
    mean: 0,
    deviation,
  });
  const norm = (/** @type {string} */ name, mean = 1, shape = [width]) => [
    { name: `${name}.weight`, type: "f32", shape, mean, deviation: mean / 10 },
    ...(kind.norm === "layer" && shape.length === 1 ? [bias(name, width, mean / 10)] : []),
  ];
  /** What an architecture adds to a product. */
  const extras = (/** @type {string} */ name, /** @type {number} */ rows) => {
    const role = name.replace(/^blk\.\d+\./, "");
    const sizes = { shared: [width / heads], each: [width / heads, (rows * heads) / width], row: [rows] };
    return [
      ...(biases?.includes(role) ? [bias(name, rows)] : []),
      ...(headNorm && (role === "attn_q" || role === "attn_k")
        ? norm(`${name}_norm`, 1, sizes[headNorm])
        : []),
    ];
  };
  // Behind a norm, what goes into the stream is as large as the norm makes it.
  const intoStream = behind ? 1 : 2 / Math.sqrt(2 * layers) / INNER;
  const added = 2 / Math.sqrt(2 * layers);
  // These multiply by the root of the width.
  const embedding = arch.startsWith("gemma") ? EMBEDDING / Math.sqrt(width) : EMBEDDING;
  yield matrix("token_embd", width, vocabulary, embedding);
  if (longrope)
    for (const [which, mean] of /** @type {const} */ ([
      ["short", 1.2],
      ["long", 6],
    ]))
      yield {
        ...{ name: `rope_factors_${which}.weight`, type: "f32", shape: [ropeDimensions / 2] },
        ...{ mean, deviation: mean / 8 },
      };
  for (let layer = 0; layer < layers; layer++) {
    const name = (/** @type {string} */ part) => `blk.${layer}.${part}`;
    if (before) yield* norm(name("attn_norm"));
    if (fused.includes("qkv")) yield matrix(name("attn_qkv"), width, width + 2 * kvWidth);
    else {
      yield matrix(name("attn_q"), width, width);
      yield* extras(name("attn_q"), width);
      yield matrix(name("attn_k"), width, kvWidth);
      yield* extras(name("attn_k"), kvWidth);
      yield matrix(name("attn_v"), width, kvWidth, INNER);
      yield* extras(name("attn_v"), kvWidth);
    }
    yield matrix(name("attn_output"), width, width, intoStream);
    yield* extras(name("attn_output"), width);
    if (behind) yield* norm(name("post_attention_norm"), added);
    if (before && !parallel) yield* norm(name("ffn_norm"));
    const both = fused.includes("gateUp");
    if (gate && !both) {
      yield matrix(name("ffn_gate"), width, feedForward);
      yield* extras(name("ffn_gate"), feedForward);
    }
    yield matrix(name("ffn_up"), width, both ? 2 * feedForward : feedForward, both ? 1 : INNER);
    yield* extras(name("ffn_up"), feedForward);
    yield matrix(name("ffn_down"), feedForward, width, intoStream);
    yield* extras(name("ffn_down"), width);
    if (behind) yield* norm(name("post_ffw_norm"), added);
  }
  const own = untied && !tied;
  yield* norm("output_norm", LOGIT_DEVIATION / (own ? 1 : embedding));
  if (own) yield matrix("output", width, vocabulary);
}

/**
 * @param {Shape} shape
 * @returns {Generator<readonly [string, MetadataInput], void, undefined>}
 */
function* metadata(shape) {
  const { arch, vocabulary } = shape;
  const { norm, floats = [], integers = [] } = { ...ARCHITECTURES[arch], ...shape.traits };
  const string = (/** @type {string} */ value) => /** @type {const} */ ({ type: "string", value });
  const uint32 = (/** @type {number} */ value) => /** @type {const} */ ({ type: "uint32", value });
  const float32 = (/** @type {number} */ value) => /** @type {const} */ ({ type: "float32", value });
  const special = specialIds(vocabulary);
  yield ["general.architecture", string(arch)];
  // Where a name has "phi3" in it, llama.cpp demands that model's own special tokens.
  const family = arch.replace("phi3", "Phi 3");
  yield ["general.name", string(`Synthetic ${family} ${shape.layers}x${shape.width}`)];
  yield ["general.file_type", uint32(FILE_TYPES[shape.type])];
  yield [`${arch}.block_count`, uint32(shape.layers)];
  yield [`${arch}.context_length`, uint32(shape.context)];
  yield [`${arch}.embedding_length`, uint32(shape.width)];
  yield [`${arch}.feed_forward_length`, uint32(shape.feedForward)];
  yield [`${arch}.attention.head_count`, uint32(shape.heads)];
  yield [`${arch}.attention.head_count_kv`, uint32(shape.kvHeads)];
  yield [`${arch}.attention.layer_norm_${norm === "layer" ? "" : "rms_"}epsilon`, float32(1e-6)];
  yield [`${arch}.rope.freq_base`, float32(arch === "smollm3" ? 5e6 : 1e4)];
  yield [`${arch}.rope.dimension_count`, uint32(shape.ropeDimensions ?? shape.width / shape.heads)];
  const more = {
    ...Object.fromEntries(floats.map(([key, value]) => [key, float32(value)])),
    ...Object.fromEntries(integers.map(([key, value]) => [key, uint32(value)])),
    ...shape.metadata,
  };
  for (const [key, value] of Object.entries(more)) yield [`${arch}.${key}`, value];
  yield [`${arch}.vocab_size`, uint32(vocabulary)];
  yield ["tokenizer.ggml.model", string("gpt2")];
  yield ["tokenizer.ggml.pre", string(arch === "smollm3" ? "smaug-bpe" : "llama-bpe")];
  yield ["tokenizer.ggml.tokens", { type: "array", items: "string", values: tokens(vocabulary) }];
  yield ["tokenizer.ggml.token_type", { type: "array", items: "int32", values: tokenTypes(vocabulary) }];
  yield ["tokenizer.ggml.merges", { type: "array", items: "string", values: merges(vocabulary) }];
  yield ["tokenizer.ggml.eos_token_id", uint32(special.eos)];
  yield ["tokenizer.ggml.padding_token_id", uint32(special.padding)];
  yield ["tokenizer.ggml.add_bos_token", { type: "bool", value: false }];
  yield ["tokenizer.chat_template", string(CHATML)];
}
