import type { Address } from "../kernels/types.ts";
import type { Hyperparameters, LayerShape, RopeParameters, TensorRole } from "../model/types.ts";
import { loadWindow, saveWindow } from "./kv-window.ts";
import { at, type Machine } from "./machine.ts";
import { addProduct, readStream } from "./steps.ts";

/** Matrices that multiply the same. */
const QKV = ["attn_q", "attn_k", "attn_v"] as const;

/** x += attn_output · attention(rope(q), rope(k), v), with q, k, v = W · norm(x), and what the model adds to these */
export function attention(machine: Machine, index: number, rows: number): void {
  const { model, buffers, kernels, weights, team, words } = machine;
  const { q, k, v, attended, qStride, kvStride } = buffers;
  const { headSize } = model;
  const layer = model.layers[index];
  const shape = machine.shapes[index];
  const kv =
    machine.kvWindow && index >= machine.kvWindow.split.residentLayers ? machine.kvWindow : undefined;
  /** From the table of a sequence's blocks to that of the same in the window. */
  const toTable = kv ? kv.split.blocks * 4 : 0;
  if (kv) machine.waiting(() => loadWindow(kv, words, team, index));

  const input = readStream(machine, index, "attn_norm", QKV, rows);
  weights.multiply("attn_q", kernels, input, rows, q, qStride);
  addBias(machine, index, "attn_q_bias", rows, q, layer.heads * headSize, qStride);
  normalizeHeads(machine, index, "attn_q_norm", rows, layer.heads, q, qStride);
  weights.multiply("attn_k", kernels, input, rows, k, kvStride);
  addBias(machine, index, "attn_k_bias", rows, k, layer.kvHeads * headSize, kvStride);
  normalizeHeads(machine, index, "attn_k_norm", rows, layer.kvHeads, k, kvStride);
  weights.multiply("attn_v", kernels, input, rows, v, kvStride);
  addBias(machine, index, "attn_v_bias", rows, v, layer.kvHeads * headSize, kvStride);

  const rope = ropeOf(model, layer);
  const ropeTable = rope === model.rope ? buffers.ropeTable : buffers.localRopeTable;
  for (let row = team.first(rows); row < team.end(rows); row++) {
    const [query, keys] = [at(q, row, qStride), at(k, row, kvStride)];
    if (rope) {
      const { dimensions, style } = rope;
      const table = at(ropeTable, row, dimensions);
      kernels.rope(query, layer.heads, headSize, table, dimensions, style === "neox");
      kernels.rope(keys, layer.kvHeads, headSize, table, dimensions, style === "neox");
    }
    const entry = buffers.rowTable / 4 + row * 2;
    if (model.temperature) {
      const { scale, positions } = model.temperature;
      const sharper = 1 + scale * Math.log(1 + Math.floor(words[entry + 1] / positions));
      kernels.scale(query, sharper, layer.heads * headSize);
    }
    kernels.storeKv(keys, at(v, row, kvStride), shape, words[entry] + toTable, words[entry + 1]);
  }
  team.barrier();
  if (kv) machine.waiting(() => saveWindow(kv, words, team, index));

  // Heads of all rows, counted through, are shared out: one row alone keeps every thread busy.
  const scratch = buffers.scratch + team.thread * buffers.scratchBytes;
  const end = team.end(rows * layer.heads);
  for (let head = team.first(rows * layer.heads); head < end; ) {
    const row = Math.floor(head / layer.heads);
    const rowStart = row * layer.heads;
    const rowEnd = Math.min(end - rowStart, layer.heads);
    const entry = buffers.rowTable / 4 + row * 2;
    const [query, out] = [at(q, row, qStride), at(attended, row, layer.heads * headSize)];
    const blocks = words[entry] + toTable;
    kernels.attention(query, shape, blocks, words[entry + 1], head - rowStart, rowEnd, scratch, out);
    head = rowStart + rowEnd;
  }
  team.barrier();

  addProduct(machine, index, "attn_output", "attn_post_norm", attended, layer.heads * headSize, rows);
}

/** How a layer rotates q and k; undefined: not at all. */
function ropeOf(model: Hyperparameters, { rope, window }: LayerShape): RopeParameters | undefined {
  if (!rope) return undefined;
  return window === undefined ? model.rope : (model.localRope ?? model.rope);
}

/** y += bias, where the layer has one; each thread its share of the rows. */
function addBias(
  machine: Machine,
  layer: number,
  role: TensorRole,
  rows: number,
  y: Address,
  columns: number,
  stride: number,
): void {
  const { kernels, team, weights, dtypes } = machine;
  if (!dtypes[layer].has(role)) return;
  const bias = weights.vector(role);
  for (let row = team.first(rows); row < team.end(rows); row++)
    kernels.add(bias, at(y, row, stride), columns);
}

/** y = norm(y), where the layer has such a norm, for each head by itself or all of them; each thread its share of the rows. */
function normalizeHeads(
  machine: Machine,
  layer: number,
  role: TensorRole,
  rows: number,
  heads: number,
  y: Address,
  stride: number,
): void {
  const { model, kernels, team, weights, dtypes } = machine;
  if (!dtypes[layer].has(role)) return;
  const { headSize, normEpsilon, norm, headNorm } = model;
  const weight = weights.vector(role);
  const normalize = norm === "layer" ? kernels.layerNorm : kernels.rmsNorm;
  const [count, size] = headNorm === "row" ? [1, heads * headSize] : [heads, headSize];
  for (let row = team.first(rows); row < team.end(rows); row++) {
    for (let head = 0; head < count; head++) {
      const from = at(y, row, stride) + head * size * 4;
      const own = headNorm === "each" ? weight + head * size * 4 : weight;
      normalize(from, own, size, normEpsilon, from);
    }
  }
}
