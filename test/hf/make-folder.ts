/** A Hugging Face folder with the weights and the vocabulary of a GGUF model of the smollm3 architecture. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readNumbers, readStrings } from "../../src/gguf/arrays.ts";
import { openGguf } from "../../src/gguf/open.ts";
import type { Gguf } from "../../src/gguf/types.ts";
import { blockFormat } from "../../src/quant/index.ts";

const LAYER: Readonly<Record<string, string>> = {
  attn_norm: "input_layernorm",
  ffn_norm: "post_attention_layernorm",
  attn_q: "self_attn.q_proj",
  attn_k: "self_attn.k_proj",
  attn_v: "self_attn.v_proj",
  attn_output: "self_attn.o_proj",
  ffn_gate: "mlp.gate_proj",
  ffn_up: "mlp.up_proj",
  ffn_down: "mlp.down_proj",
};

export interface Tensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** @param shards into how many files the weights go */
export function makeHfFolder(from: string, folder: string, shards = 1): void {
  mkdirSync(folder, { recursive: true });
  const gguf = openGguf(from);
  try {
    writeJson(join(folder, "config.json"), configOf(gguf));
    writeJson(join(folder, "tokenizer.json"), tokenizerOf(gguf));
    writeJson(join(folder, "tokenizer_config.json"), {
      eos_token: { content: "<|im_end|>" },
      bos_token: null,
    });
    writeFileSync(join(folder, "chat_template.jinja"), String(value(gguf, "tokenizer.chat_template")));
    const tensors = [...tensorsOf(gguf)];
    if (shards === 1) writeSafeTensors(join(folder, "model.safetensors"), tensors);
    else writeShards(folder, tensors, shards);
  } finally {
    gguf.close();
  }
}

export function writeShards(folder: string, tensors: readonly [string, Tensor][], shards: number): void {
  const map: Record<string, string> = {};
  for (let shard = 0; shard < shards; shard++) {
    const name = `model-0000${shard + 1}-of-0000${shards}.safetensors`;
    const own = tensors.filter((_, index) => index % shards === shard);
    writeSafeTensors(join(folder, name), own);
    for (const [tensor] of own) map[tensor] = name;
  }
  writeJson(join(folder, "model.safetensors.index.json"), { metadata: {}, weight_map: map });
}

export function writeSafeTensors(path: string, tensors: readonly [string, Tensor][]): void {
  let end = 0;
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } };
  for (const [name, { dtype, shape, bytes }] of tensors) {
    header[name] = { dtype, shape, data_offsets: [end, end + bytes.length] };
    end += bytes.length;
  }
  writeFileSync(path, safeTensorsBytes(header, Buffer.concat(tensors.map(([, { bytes }]) => bytes))));
}

/** @param header padded with spaces to a multiple of eight, as safetensors does */
export function safeTensorsBytes(header: unknown, data: Uint8Array): Buffer {
  const json = JSON.stringify(header);
  const padded = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  return Buffer.concat([length, padded, data]);
}

export function writeJson(path: string, content: unknown): void {
  writeFileSync(path, JSON.stringify(content));
}

function configOf(gguf: Gguf): object {
  const integer = (key: string) => Number(value(gguf, `smollm3.${key}`));
  return {
    architectures: ["SmolLM3ForCausalLM"],
    model_type: "smollm3",
    hidden_size: integer("embedding_length"),
    intermediate_size: integer("feed_forward_length"),
    num_hidden_layers: integer("block_count"),
    num_attention_heads: integer("attention.head_count"),
    num_key_value_heads: integer("attention.head_count_kv"),
    max_position_embeddings: integer("context_length"),
    rms_norm_eps: Number(value(gguf, "smollm3.attention.layer_norm_rms_epsilon")),
    rope_parameters: { rope_type: "default", rope_theta: Number(value(gguf, "smollm3.rope.freq_base")) },
    vocab_size: gguf.tensors.get("token_embd.weight")!.shape[1],
    tie_word_embeddings: true,
    eos_token_id: [Number(value(gguf, "tokenizer.ggml.eos_token_id"))],
  };
}

function tokenizerOf(gguf: Gguf): object {
  const texts = strings(gguf, "tokens");
  const types = gguf.metadata.get("tokenizer.ggml.token_type");
  const kinds = types?.type === "array" ? readNumbers(gguf, types) : [];
  const isAdded = (id: number) => kinds[id] === 3 || kinds[id] === 4;
  const gpt4 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  return {
    added_tokens: texts.flatMap((content, id) =>
      isAdded(id) ? [{ id, content, special: kinds[id] === 3 }] : [],
    ),
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: gpt4 }, behavior: "Isolated", invert: false },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    model: {
      type: "BPE",
      ignore_merges: false,
      byte_fallback: false,
      vocab: Object.fromEntries(texts.flatMap((text, id) => (isAdded(id) ? [] : [[text, id]]))),
      merges: strings(gguf, "merges").map((merge) => merge.split(" ")),
    },
  };
}

function* tensorsOf(gguf: Gguf): Generator<[string, Tensor], void, undefined> {
  const headSize = Number(value(gguf, "smollm3.rope.dimension_count"));
  for (const { name, type, shape, offset, bytes } of gguf.tensors.values()) {
    const raw = new Uint8Array(bytes);
    gguf.read(offset, raw);
    const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
    blockFormat(type).dequantize(raw, values, values.length);
    const [, layer, role] = /^blk\.(\d+)\.(.*)\.weight$/.exec(name) ?? [];
    const ordered = role === "attn_q" || role === "attn_k" ? halvesApart(values, shape[0], headSize) : values;
    const model = name === "token_embd.weight" ? "model.embed_tokens" : "model.norm";
    const stem = role === undefined ? model : `model.layers.${layer}.${LAYER[role]}`;
    yield [
      `${stem}.weight`,
      { dtype: "F32", shape: [...shape].reverse(), bytes: new Uint8Array(ordered.buffer) },
    ];
  }
}

/** Rows (2i, 2i + 1) of each head to (i, i + half a head). */
function halvesApart(values: Float32Array, columns: number, headSize: number): Float32Array {
  const moved = new Float32Array(values.length);
  for (let row = 0; row < values.length / columns; row++) {
    const inHead = row % headSize;
    const target = row - inHead + (inHead % 2) * (headSize / 2) + Math.floor(inHead / 2);
    moved.set(values.subarray(row * columns, (row + 1) * columns), target * columns);
  }
  return moved;
}

function value(gguf: Gguf, key: string): unknown {
  const entry = gguf.metadata.get(key);
  return entry !== undefined && "value" in entry ? entry.value : undefined;
}

function strings(gguf: Gguf, key: string): string[] {
  const entry = gguf.metadata.get(`tokenizer.ggml.${key}`);
  return entry?.type === "array"
    ? [...readStrings(gguf, entry)].map((bytes) => Buffer.from(bytes).toString())
    : [];
}
