/**
 * A transformer to hold the engine against: the whole model in memory, row-major float64, one token at a time,
 * straight from the GGUF file. It shares nothing with the engine but the GGUF reader and the dequantizers.
 */
import type { Gguf } from "../../src/gguf/types.ts";
import { readHyperparameters } from "../../src/model/hyperparameters.ts";
import { blockFormat } from "../../src/quant/index.ts";

type Matrix = { rows: number; columns: number; values: Float32Array };

/** Logits (vocabulary) after each of the tokens, in float64. */
export function referenceLogits(gguf: Gguf, tokens: readonly number[]): Float64Array[] {
  return transform(gguf, tokens, false).map(([logits]) => logits);
}

/** For each of the tokens, the logits after the embedding and after each layer (stages, vocabulary). */
export function referenceLens(gguf: Gguf, tokens: readonly number[]): Float64Array[][] {
  return transform(gguf, tokens, true);
}

function transform(gguf: Gguf, tokens: readonly number[], everyStage: boolean): Float64Array[][] {
  const model = readHyperparameters(gguf);
  const matrix = (name: string): Matrix => {
    const { type, shape, offset, bytes } = gguf.tensors.get(name)!;
    const [columns, rows = 1] = shape;
    const raw = new Uint8Array(bytes);
    gguf.read(offset, raw);
    const values = new Float32Array(columns * rows);
    blockFormat(type).dequantize(raw, values, values.length);
    return { rows, columns, values };
  };
  const embedding = matrix("token_embd.weight");
  const output = model.tiedOutput ? embedding : matrix("output.weight");
  const outputNorm = matrix("output_norm.weight").values;
  const layers = model.layers.map((shape, i) => {
    const weights = (name: string) => matrix(`blk.${i}.${name}.weight`);
    const extra = (name: string) =>
      gguf.tensors.has(`blk.${i}.${name}`) ? matrix(`blk.${i}.${name}`).values : undefined;
    return {
      ...shape,
      attnNorm: weights("attn_norm").values,
      q: weights("attn_q"),
      k: weights("attn_k"),
      v: weights("attn_v"),
      biases: { q: extra("attn_q.bias"), k: extra("attn_k.bias"), v: extra("attn_v.bias") },
      norms: { q: extra("attn_q_norm.weight"), k: extra("attn_k_norm.weight") },
      o: weights("attn_output"),
      ffnNorm: weights("ffn_norm").values,
      gate: weights("ffn_gate"),
      up: weights("ffn_up"),
      down: weights("ffn_down"),
      keys: [] as Float64Array[],
      values: [] as Float64Array[],
    };
  });

  return tokens.map((token, position) => {
    const { columns } = embedding;
    let x: Float64Array = Float64Array.from(
      embedding.values.subarray(token * columns, (token + 1) * columns),
    );
    const say = () => multiply(output, rmsNorm(x, outputNorm, model.normEpsilon));
    const stages: Float64Array[] = [];
    for (const layer of layers) {
      if (everyStage) stages.push(say());
      const h = rmsNorm(x, layer.attnNorm, model.normEpsilon);
      const q = normHeads(plus(multiply(layer.q, h), layer.biases.q), layer.norms.q);
      const k = normHeads(plus(multiply(layer.k, h), layer.biases.k), layer.norms.k);
      if (layer.rope) for (const vector of [q, k]) rotate(vector, position);
      layer.keys.push(k);
      layer.values.push(plus(multiply(layer.v, h), layer.biases.v));
      x = sum(x, multiply(layer.o, attend(q, layer.keys, layer.values, layer.heads / layer.kvHeads)));
      const f = rmsNorm(x, layer.ffnNorm, model.normEpsilon);
      const up = multiply(layer.up, f);
      const gated = multiply(layer.gate, f).map((g, i) => (g / (1 + Math.exp(-g))) * up[i]);
      x = sum(x, multiply(layer.down, gated));
    }
    return [...stages, say()];
  });

  function normHeads(vector: Float64Array, weight: Float32Array | undefined): Float64Array {
    if (weight === undefined) return vector;
    const { headSize, normEpsilon } = model;
    for (let head = 0; head < vector.length; head += headSize)
      vector.set(rmsNorm(vector.subarray(head, head + headSize), weight, normEpsilon), head);
    return vector;
  }

  function rotate(vector: Float64Array, position: number): void {
    const { dimensions, base, positionScale, factors, style } = model.rope;
    for (let head = 0; head < vector.length; head += model.headSize) {
      for (let i = 0; i < dimensions; i += 2) {
        const angle = (position * positionScale * base ** (-i / dimensions)) / (factors?.[i / 2] ?? 1);
        const [first, second] = style === "neox" ? [i / 2, i / 2 + dimensions / 2] : [i, i + 1];
        const [a, b] = [vector[head + first], vector[head + second]];
        vector[head + first] = a * Math.cos(angle) - b * Math.sin(angle);
        vector[head + second] = a * Math.sin(angle) + b * Math.cos(angle);
      }
    }
  }

  function attend(
    q: Float64Array,
    keys: Float64Array[],
    values: Float64Array[],
    shared: number,
  ): Float64Array {
    const out = new Float64Array(q.length);
    const { headSize } = model;
    for (let head = 0; head * headSize < q.length; head++) {
      const kv = Math.floor(head / shared) * headSize;
      const scores = keys.map((key) => {
        let dot = 0;
        for (let i = 0; i < headSize; i++) dot += q[head * headSize + i] * key[kv + i];
        return dot / Math.sqrt(headSize);
      });
      const highest = Math.max(...scores);
      const weights = scores.map((score) => Math.exp(score - highest));
      const total = weights.reduce((a, b) => a + b, 0);
      for (const [position, weight] of weights.entries())
        for (let i = 0; i < headSize; i++)
          out[head * headSize + i] += (weight / total) * values[position][kv + i];
    }
    return out;
  }
}

function rmsNorm(x: Float64Array, weight: Float32Array, epsilon: number): Float64Array {
  const mean = x.reduce((total, value) => total + value * value, 0) / x.length;
  return x.map((value, i) => (value / Math.sqrt(mean + epsilon)) * weight[i]);
}

function multiply({ rows, columns, values }: Matrix, x: Float64Array): Float64Array {
  return Float64Array.from({ length: rows }, (_, row) => {
    let total = 0;
    for (let i = 0; i < columns; i++) total += values[row * columns + i] * x[i];
    return total;
  });
}

function plus(x: Float64Array, bias: Float32Array | undefined): Float64Array {
  return bias === undefined ? x : x.map((value, i) => value + bias[i]);
}

function sum(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, i) => value + b[i]);
}
