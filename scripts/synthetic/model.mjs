// @ts-check
/** Synthetic models: sound GGUF files of any shape whose weights are random. */

import { GgufWriter } from "../../dist/gguf/writer.js";
import { CHATML, merges, specialIds, tokens, tokenTypes } from "./vocabulary.mjs";
import { weights } from "./weights.mjs";

/**
 * @typedef {object} Shape
 * @property {string} arch `llama`, `smollm3`, `qwen2`, `qwen3`, `mistral3` or `internlm2`
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
  type,
  types = {},
  layers,
  width,
  feedForward,
  heads,
  kvHeads,
  vocabulary,
  untied,
}) {
  const kvWidth = (width / heads) * kvHeads;
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
  const norm = (/** @type {string} */ name, mean = 1, size = width) => ({
    name: `${name}.weight`,
    type: "f32",
    shape: [size],
    mean,
    deviation: mean / 10,
  });
  /** What an architecture adds to q, k and v. */
  const extras = (/** @type {string} */ name, /** @type {number} */ rows) => [
    ...(arch === "qwen2"
      ? [{ name: `${name}.bias`, type: "f32", shape: [rows], mean: 0, deviation: 0.5 }]
      : []),
    ...(arch === "qwen3" && !name.endsWith("attn_v") ? [norm(`${name}_norm`, 1, width / heads)] : []),
  ];
  const intoStream = 2 / Math.sqrt(2 * layers) / INNER;
  yield matrix("token_embd", width, vocabulary, EMBEDDING);
  for (let layer = 0; layer < layers; layer++) {
    const name = (/** @type {string} */ part) => `blk.${layer}.${part}`;
    yield norm(name("attn_norm"));
    yield matrix(name("attn_q"), width, width);
    yield* extras(name("attn_q"), width);
    yield matrix(name("attn_k"), width, kvWidth);
    yield* extras(name("attn_k"), kvWidth);
    yield matrix(name("attn_v"), width, kvWidth, INNER);
    yield* extras(name("attn_v"), kvWidth);
    yield matrix(name("attn_output"), width, width, intoStream);
    yield norm(name("ffn_norm"));
    yield matrix(name("ffn_gate"), width, feedForward);
    yield matrix(name("ffn_up"), width, feedForward, INNER);
    yield matrix(name("ffn_down"), feedForward, width, intoStream);
  }
  yield norm("output_norm", LOGIT_DEVIATION / (untied ? 1 : EMBEDDING));
  if (untied) yield matrix("output", width, vocabulary);
}

/**
 * @param {Shape} shape
 * @returns {Generator<readonly [string, import("../../dist/gguf/writer.js").MetadataInput], void, undefined>}
 */
function* metadata(shape) {
  const { arch, vocabulary } = shape;
  const string = (/** @type {string} */ value) => /** @type {const} */ ({ type: "string", value });
  const uint32 = (/** @type {number} */ value) => /** @type {const} */ ({ type: "uint32", value });
  const float32 = (/** @type {number} */ value) => /** @type {const} */ ({ type: "float32", value });
  const special = specialIds(vocabulary);
  yield ["general.architecture", string(arch)];
  yield ["general.name", string(`Synthetic ${arch} ${shape.layers}x${shape.width}`)];
  yield ["general.file_type", uint32(FILE_TYPES[shape.type])];
  yield [`${arch}.block_count`, uint32(shape.layers)];
  yield [`${arch}.context_length`, uint32(shape.context)];
  yield [`${arch}.embedding_length`, uint32(shape.width)];
  yield [`${arch}.feed_forward_length`, uint32(shape.feedForward)];
  yield [`${arch}.attention.head_count`, uint32(shape.heads)];
  yield [`${arch}.attention.head_count_kv`, uint32(shape.kvHeads)];
  yield [`${arch}.attention.layer_norm_rms_epsilon`, float32(1e-6)];
  yield [`${arch}.rope.freq_base`, float32(arch === "smollm3" ? 5e6 : 1e4)];
  yield [`${arch}.rope.dimension_count`, uint32(shape.width / shape.heads)];
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
