/**
 * A transformer to hold the engine against: the whole model in memory, row-major float64, one token at a time,
 * straight from the GGUF file. It shares nothing with the engine but the GGUF reader, the dequantizers and what the
 * metadata are taken to say.
 */
import type { Gguf } from "../../src/gguf/types.ts";
import { readHyperparameters } from "../../src/model/hyperparameters.ts";
import type { Hyperparameters, LayerShape, RopeParameters } from "../../src/model/types.ts";
import { f16ToF32, f32ToF16 } from "../../src/quant/half.ts";
import { blockFormat } from "../../src/quant/index.ts";

type Matrix = { rows: number; columns: number; values: Float32Array };
type Vector = Float32Array | undefined;

/** Logits (vocabulary) after each of the tokens, in float64. @param contextLength that longrope takes for the context */
export function referenceLogits(
  gguf: Gguf,
  tokens: readonly number[],
  contextLength?: number,
): Float64Array[] {
  return transform(gguf, tokens, false, contextLength).map(([logits]) => logits);
}

/** For each of the tokens, the logits after the embedding and after each layer (stages, vocabulary). */
export function referenceLens(gguf: Gguf, tokens: readonly number[]): Float64Array[][] {
  return transform(gguf, tokens, true);
}

function readLayer(read: (name: string) => Matrix | undefined, shape: LayerShape, headSize: number) {
  const { heads, kvHeads, feedForward } = shape;
  const vector = (name: string): Vector => read(name)?.values;
  // q, k and v may be one tensor, and so may gate and up.
  const fused = read("attn_qkv.weight");
  const [queries, keys] = [heads * headSize, kvHeads * headSize];
  const ffnUp = read("ffn_up.weight")!;
  const both = ffnUp.rows === 2 * feedForward;
  return {
    ...shape,
    attnNorm: vector("attn_norm.weight"),
    attnNormBias: vector("attn_norm.bias"),
    q: fused ? rowsOf(fused, 0, queries) : read("attn_q.weight")!,
    k: fused ? rowsOf(fused, queries, keys) : read("attn_k.weight")!,
    v: fused ? rowsOf(fused, queries + keys, keys) : read("attn_v.weight")!,
    qBias: vector("attn_q.bias"),
    kBias: vector("attn_k.bias"),
    vBias: vector("attn_v.bias"),
    qNorm: vector("attn_q_norm.weight"),
    kNorm: vector("attn_k_norm.weight"),
    o: read("attn_output.weight")!,
    oBias: vector("attn_output.bias"),
    postAttention: vector("post_attention_norm.weight"),
    ffnNorm: vector("ffn_norm.weight"),
    ffnNormBias: vector("ffn_norm.bias"),
    gate: both ? rowsOf(ffnUp, 0, feedForward) : read("ffn_gate.weight"),
    gateBias: vector("ffn_gate.bias"),
    up: both ? rowsOf(ffnUp, feedForward, feedForward) : ffnUp,
    upBias: vector("ffn_up.bias"),
    down: read("ffn_down.weight")!,
    downBias: vector("ffn_down.bias"),
    postFfn: vector("post_ffw_norm.weight"),
    keys: [] as Float64Array[],
    values: [] as Float64Array[],
  };
}

function transform(
  gguf: Gguf,
  tokens: readonly number[],
  everyStage: boolean,
  contextLength = 0,
): Float64Array[][] {
  const model = readHyperparameters(gguf);
  const read = (name: string): Matrix | undefined => {
    const tensor = gguf.tensors.get(name);
    if (tensor === undefined) return undefined;
    const { type, shape, offset, bytes } = tensor;
    const [columns, rows = 1] = shape;
    const raw = new Uint8Array(bytes);
    gguf.read(offset, raw);
    const values = new Float32Array(columns * rows);
    blockFormat(type).dequantize(raw, values, values.length);
    return { rows, columns, values };
  };
  const embedding = read("token_embd.weight")!;
  const output = model.tiedOutput ? embedding : read("output.weight")!;
  const outputNorm = read("output_norm.weight")!.values;
  const outputBias = read("output_norm.bias")?.values;
  const layers = model.layers.map((shape, i) =>
    readLayer((name) => read(`blk.${i}.${name}`), shape, model.headSize),
  );
  const activate = model.activation === "gelu" ? gelu : silu;

  return tokens.map((token, position) => {
    const { columns } = embedding;
    const row = embedding.values.subarray(token * columns, (token + 1) * columns);
    let x: Float64Array = Float64Array.from(row, (value) => value * (model.embeddingScale ?? 1));
    const say = () => {
      const normed = plus(normalize(x, outputNorm), outputBias);
      const logits = multiply(output, normed).map((value) => value * (model.logitScale ?? 1));
      return capped(logits, model.logitCap);
    };
    const stages: Float64Array[] = [];
    for (const layer of layers) {
      if (everyStage) stages.push(say());
      const h = plus(normalize(x, layer.attnNorm), layer.attnNormBias);
      const q = normHeads(plus(multiply(layer.q, h), layer.qBias), layer.qNorm);
      const k = normHeads(plus(multiply(layer.k, h), layer.kBias), layer.kNorm);
      if (layer.rope) {
        const rope = (layer.window !== undefined && model.localRope) || model.rope;
        for (const vector of [q, k]) rotate(vector, position, rope);
      }
      layer.keys.push(k);
      layer.values.push(plus(multiply(layer.v, h), layer.vBias));
      const attended = plus(multiply(layer.o, attend(q, layer)), layer.oBias);
      x = add(x, rmsNorm(attended, layer.postAttention, model.normEpsilon));

      const f = model.parallel ? h : plus(normalize(x, layer.ffnNorm), layer.ffnNormBias);
      const up = plus(multiply(layer.up, f), layer.upBias);
      const gate = layer.gate && plus(multiply(layer.gate, f), layer.gateBias);
      const gated = gate ? gate.map((g, i) => activate(g) * up[i]) : up.map(activate);
      const down = plus(multiply(layer.down, gated), layer.downBias);
      x = add(x, rmsNorm(down, layer.postFfn, model.normEpsilon));
    }
    return [...stages, say()];
  });

  function normalize(x: Float64Array, weight: Vector): Float64Array {
    return (model.norm === "layer" ? layerNorm : rmsNorm)(x, weight, model.normEpsilon);
  }

  /** Into the residual stream. */
  function add(x: Float64Array, part: Float64Array): Float64Array {
    return x.map((value, i) => value + part[i] * (model.residualScale ?? 1));
  }

  function normHeads(vector: Float64Array, weight: Vector): Float64Array {
    if (weight === undefined) return vector;
    const size = model.headNorm === "row" ? vector.length : model.headSize;
    for (let head = 0; head < vector.length; head += size) {
      const own = model.headNorm === "each" ? weight.subarray(head, head + size) : weight;
      vector.set(normalize(vector.subarray(head, head + size), own), head);
    }
    return vector;
  }

  function rotate(vector: Float64Array, position: number, rope: RopeParameters): void {
    const { dimensions, base, positionScale, style, magnitude = 1, shortContext } = rope;
    const long = shortContext !== undefined && contextLength > shortContext;
    const factors = long ? rope.longFactors : rope.factors;
    for (let head = 0; head < vector.length; head += model.headSize) {
      for (let i = 0; i < dimensions; i += 2) {
        const angle = (position * positionScale * base ** (-i / dimensions)) / (factors?.[i / 2] ?? 1);
        const [cos, sin] = [magnitude * Math.cos(angle), magnitude * Math.sin(angle)];
        const [first, second] = style === "neox" ? [i / 2, i / 2 + dimensions / 2] : [i, i + 1];
        const [a, b] = [vector[head + first], vector[head + second]];
        vector[head + first] = a * cos - b * sin;
        vector[head + second] = a * sin + b * cos;
      }
    }
  }

  function attend(q: Float64Array, { keys, values, heads, kvHeads, window }: (typeof layers)[number]) {
    const out = new Float64Array(q.length);
    const { headSize, attentionScale = 1 / Math.sqrt(headSize), attentionCap } = model;
    const seen = Math.max(0, keys.length - (window ?? keys.length));
    const sharper = sharpness(model, keys.length - 1);
    for (let head = 0; head < heads; head++) {
      const kv = Math.floor((head * kvHeads) / heads) * headSize;
      const products = keys.slice(seen).map((key) => {
        let dot = 0;
        for (let i = 0; i < headSize; i++) dot += q[head * headSize + i] * key[kv + i];
        return dot * attentionScale * sharper;
      });
      const scores = capped(Float64Array.from(products), attentionCap);
      const highest = Math.max(...scores);
      const weights = scores.map((score) => Math.exp(score - highest));
      const total = weights.reduce((a, b) => a + b, 0);
      for (const [position, weight] of weights.entries())
        for (let i = 0; i < headSize; i++)
          out[head * headSize + i] += (weight / total) * values[seen + position][kv + i];
    }
    return out;
  }
}

function sharpness({ temperature }: Hyperparameters, position: number): number {
  if (temperature === undefined) return 1;
  return 1 + temperature.scale * Math.log(1 + Math.floor(position / temperature.positions));
}

function rowsOf({ columns, values }: Matrix, first: number, rows: number): Matrix {
  return { rows, columns, values: values.subarray(first * columns, (first + rows) * columns) };
}

/** Without a weight, x as it is. */
function rmsNorm(x: Float64Array, weight: Vector, epsilon: number): Float64Array {
  if (weight === undefined) return x;
  const mean = x.reduce((total, value) => total + value * value, 0) / x.length;
  return x.map((value, i) => (value / Math.sqrt(mean + epsilon)) * weight[i]);
}

function layerNorm(x: Float64Array, weight: Vector, epsilon: number): Float64Array {
  const mean = x.reduce((total, value) => total + value, 0) / x.length;
  return rmsNorm(
    x.map((value) => value - mean),
    weight,
    epsilon,
  );
}

function silu(x: number): number {
  return x / (1 + Math.exp(-x));
}

/** By tanh, through float16 as in llama.cpp. */
function gelu(x: number): number {
  if (Math.abs(x) >= 10) return Math.max(0, x);
  const v = half(x);
  return half(0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3))));
}

function half(x: number): number {
  return f16ToF32(f32ToF16(Math.fround(x)));
}

function capped(values: Float64Array, cap: number | undefined): Float64Array {
  return cap === undefined ? values : values.map((value) => cap * Math.tanh(value / cap));
}

function multiply({ rows, columns, values }: Matrix, x: Float64Array): Float64Array {
  return Float64Array.from({ length: rows }, (_, row) => {
    let total = 0;
    for (let i = 0; i < columns; i++) total += values[row * columns + i] * x[i];
    return total;
  });
}

function plus(x: Float64Array, bias: Vector): Float64Array {
  return bias === undefined ? x : x.map((value, i) => value + bias[i]);
}
