/**
 * The transformer: embedding → layers → output, for a batch of rows. Every compute thread runs this same program.
 *
 * A row is one token of one sequence. Rows of a sequence lie in the order of their positions, and each sees what
 * the rows before it left in the KV cache.
 */
import type { AttentionShape, Kernels } from "../kernels/types.ts";
import type { Hyperparameters, LayerShape } from "../model/types.ts";
import type { Buffers } from "./buffers.ts";
import type { Team } from "./team.ts";
import type { Weights } from "./weights.ts";

/** What a thread computes with. */
export interface Machine {
  readonly model: Hyperparameters;
  readonly buffers: Buffers;
  readonly kernels: Kernels;
  /** Of each layer. */
  readonly shapes: readonly AttentionShape[];
  readonly weights: Weights;
  readonly team: Team;
  /** The engine's memory as uint32, for the tables in it. */
  readonly words: Uint32Array;
  /** Called when a layer (or, last, the output) is done. */
  readonly stageDone: (stage: number) => void;
}

/**
 * Run a sweep. Row and asked tables, rope table and x (the embeddings) are filled in already; the logits of the
 * asked rows are in `buffers.logits` afterwards.
 */
export function forward(machine: Machine, rows: number, asked: number): void {
  const { model, shapes, stageDone } = machine;
  for (const [index, layer] of model.layers.entries()) {
    attention(machine, layer, shapes[index], rows);
    feedForward(machine, layer, rows);
    stageDone(index);
  }
  if (asked > 0) {
    output(machine, asked);
    stageDone(model.layers.length);
  }
}

/** x += attn_output · attention(rope(q), rope(k), v), with q, k, v = W · norm(x) */
function attention(machine: Machine, layer: LayerShape, shape: AttentionShape, rows: number): void {
  const { model, buffers, kernels, weights, team, words } = machine;
  const { x, normed, q, k, v, attended, projected, qStride, kvStride, projectedStride } = buffers;
  const { headSize } = model;

  const norm = weights.vector("attn_norm");
  for (let row = team.first(rows); row < team.end(rows); row++)
    kernels.rmsNorm(
      at(x, row, model.width),
      norm,
      model.width,
      model.normEpsilon,
      at(normed, row, model.width),
    );
  team.barrier();
  weights.multiply("attn_q", kernels, normed, rows, q, qStride);
  weights.multiply("attn_k", kernels, normed, rows, k, kvStride);
  weights.multiply("attn_v", kernels, normed, rows, v, kvStride);

  for (let row = team.first(rows); row < team.end(rows); row++) {
    const keys = at(k, row, kvStride);
    if (layer.rope) {
      const { dimensions } = model.rope;
      const table = at(buffers.ropeTable, row, dimensions);
      kernels.rope(at(q, row, qStride), layer.heads, headSize, table, dimensions);
      kernels.rope(keys, layer.kvHeads, headSize, table, dimensions);
    }
    const { blocks, position } = rowTable(words, buffers, row);
    kernels.storeKv(keys, at(v, row, kvStride), shape, blocks, position);
  }
  team.barrier();

  // Heads of all rows, counted through, are shared out: one row alone keeps every thread busy.
  const end = team.end(rows * layer.heads);
  for (let head = team.first(rows * layer.heads); head < end; ) {
    const row = Math.floor(head / layer.heads);
    const rowStart = row * layer.heads;
    const rowEnd = Math.min(end - rowStart, layer.heads);
    const { blocks, position } = rowTable(words, buffers, row);
    const out = at(attended, row, layer.heads * headSize);
    kernels.attention(at(q, row, qStride), shape, blocks, position, head - rowStart, rowEnd, out);
    head = rowStart + rowEnd;
  }
  team.barrier();

  weights.multiply("attn_output", kernels, attended, rows, projected, projectedStride);
  for (let row = team.first(rows); row < team.end(rows); row++)
    kernels.add(at(projected, row, projectedStride), at(x, row, model.width), model.width);
}

/** x += ffn_down · (silu(gate) × up), with gate, up = W · norm(x) */
function feedForward(machine: Machine, layer: LayerShape, rows: number): void {
  const { model, buffers, kernels, weights, team } = machine;
  const { x, normed, gateUp, gated, projected, gateUpStride, projectedStride } = buffers;

  // The same rows as in the residual sum just before: no barrier needed between.
  const norm = weights.vector("ffn_norm");
  for (let row = team.first(rows); row < team.end(rows); row++)
    kernels.rmsNorm(
      at(x, row, model.width),
      norm,
      model.width,
      model.normEpsilon,
      at(normed, row, model.width),
    );
  team.barrier();
  weights.multiply("ffn_gate_up", kernels, normed, rows, gateUp, gateUpStride);

  for (let row = team.first(rows); row < team.end(rows); row++)
    kernels.swiglu(at(gateUp, row, gateUpStride), layer.feedForward, at(gated, row, layer.feedForward));
  team.barrier();

  weights.multiply("ffn_down", kernels, gated, rows, projected, projectedStride);
  for (let row = team.first(rows); row < team.end(rows); row++)
    kernels.add(at(projected, row, projectedStride), at(x, row, model.width), model.width);
}

/** logits = output · norm(x), for the rows that asked */
function output(machine: Machine, asked: number): void {
  const { model, buffers, kernels, weights, team, words } = machine;
  const { x, normed, logits, logitsStride } = buffers;

  // Any thread may have written the rows that asked.
  team.barrier();
  const norm = weights.vector("output_norm");
  for (let index = team.first(asked); index < team.end(asked); index++) {
    const row = words[buffers.askedTable / 4 + index];
    kernels.rmsNorm(
      at(x, row, model.width),
      norm,
      model.width,
      model.normEpsilon,
      at(normed, index, model.width),
    );
  }
  team.barrier();
  const matrix = model.tiedOutput ? "token_embd" : "output";
  weights.multiply(matrix, kernels, normed, asked, logits, logitsStride);
}

/** Address of a row of float32 values. */
function at(address: number, row: number, stride: number): number {
  return address + row * stride * 4;
}

function rowTable(words: Uint32Array, buffers: Buffers, row: number): { blocks: number; position: number } {
  const entry = buffers.rowTable / 4 + row * 2;
  return { blocks: words[entry], position: words[entry + 1] };
}
