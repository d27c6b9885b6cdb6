/**
 * The transformer: embedding → layers → output, for a batch of rows. Every compute thread runs this same program.
 *
 * A row is one token of one sequence. Rows of a sequence lie in the order of their positions, and each sees what
 * the rows before it left in the KV cache.
 */
import type { Address, AttentionShape, Int8Kernels, Kernels } from "../kernels/types.ts";
import type { Hyperparameters, TensorRole } from "../model/types.ts";
import { BLOCK_COLUMNS, isQuantized, PANEL_ROWS } from "../store/panel.ts";
import type { TensorDtype } from "../store/types.ts";
import type { Job } from "../stream/control.ts";
import { type Buffers, GATE_UP_PANELS, GATE_UP_STRIDE } from "./buffers.ts";
import { Lens } from "./lens.ts";
import type { Team } from "./team.ts";
import { type Input, multiplyShare, type Share, type Weights } from "./weights.ts";

/**
 * Rows from which on activations may be rounded to 8 bits. Fewer rows give to the bit what each of them alone would
 * give: decoding, and whatever is to equal it.
 */
const BYTE_ROWS = 32;

/** Matrices that multiply the same. */
const QKV = ["attn_q", "attn_k", "attn_v"] as const;
const GATE_UP = ["ffn_gate_up"] as const;
const OUTPUT = ["output", "token_embd"] as const;

/** What a thread computes with. */
export interface Machine {
  readonly model: Hyperparameters;
  readonly buffers: Buffers;
  readonly kernels: Kernels;
  /** Where the machine has them. */
  readonly int8: Int8Kernels | undefined;
  /** Of each layer. */
  readonly shapes: readonly AttentionShape[];
  readonly weights: Weights;
  /** What the weights of each layer are made of, last those of the output. */
  readonly dtypes: readonly ReadonlyMap<TensorRole, TensorDtype>[];
  readonly team: Team;
  /** The engine's memory as uint32, for the tables in it. */
  readonly words: Uint32Array;
  /** Called when a part of a layer (or, last, the output) is done. */
  readonly partDone: (part: "attention" | "feed-forward" | "output", stage: number) => void;
}

/**
 * Run a sweep. Row and asked tables, rope table and x (the embeddings) are filled in already; the logits of the
 * asked rows are in `buffers.logits` afterwards.
 */
export function forward(machine: Machine, job: Job): void {
  const { model, team, partDone } = machine;
  const { rows, asked } = job;
  const lens = job.lens === 0 ? undefined : new Lens(machine, team.threads, asked, job.lens);
  lens?.keep(0, rows);
  for (let layer = 0; layer < model.layers.length; layer++) {
    attention(machine, layer, rows);
    partDone("attention", layer);
    feedForward(machine, layer, rows);
    lens?.keep(layer + 1, rows);
    partDone("feed-forward", layer);
  }
  if (asked === 0) return;
  output(machine, asked, lens);
  partDone("output", model.layers.length);
}

/** x += attn_output · attention(rope(q), rope(k), v), with q, k, v = W · norm(x), and what the architecture adds to these */
function attention(machine: Machine, index: number, rows: number): void {
  const { model, buffers, kernels, weights, team, words } = machine;
  const { q, k, v, attended, qStride, kvStride } = buffers;
  const { headSize } = model;
  const layer = model.layers[index];
  const shape = machine.shapes[index];

  const rounded = isRounded(machine, index, QKV);
  const norm = normalize(machine, weights.vector("attn_norm"), rows, rounded);
  const normed = inBytes(machine, index, QKV, norm, rows);
  weights.multiply("attn_q", kernels, normed, rows, q, qStride);
  addBias(machine, index, "attn_q_bias", rows, q, layer.heads * headSize, qStride);
  normalizeHeads(machine, index, "attn_q_norm", rows, layer.heads, q, qStride);
  weights.multiply("attn_k", kernels, normed, rows, k, kvStride);
  addBias(machine, index, "attn_k_bias", rows, k, layer.kvHeads * headSize, kvStride);
  normalizeHeads(machine, index, "attn_k_norm", rows, layer.kvHeads, k, kvStride);
  weights.multiply("attn_v", kernels, normed, rows, v, kvStride);
  addBias(machine, index, "attn_v_bias", rows, v, layer.kvHeads * headSize, kvStride);

  for (let row = team.first(rows); row < team.end(rows); row++) {
    const keys = at(k, row, kvStride);
    if (layer.rope) {
      const { dimensions, style } = model.rope;
      const table = at(buffers.ropeTable, row, dimensions);
      kernels.rope(at(q, row, qStride), layer.heads, headSize, table, dimensions, style === "neox");
      kernels.rope(keys, layer.kvHeads, headSize, table, dimensions, style === "neox");
    }
    const entry = buffers.rowTable / 4 + row * 2;
    kernels.storeKv(keys, at(v, row, kvStride), shape, words[entry], words[entry + 1]);
  }
  team.barrier();

  // Heads of all rows, counted through, are shared out: one row alone keeps every thread busy.
  const scratch = buffers.scratch + team.thread * buffers.scratchBytes;
  const end = team.end(rows * layer.heads);
  for (let head = team.first(rows * layer.heads); head < end; ) {
    const row = Math.floor(head / layer.heads);
    const rowStart = row * layer.heads;
    const rowEnd = Math.min(end - rowStart, layer.heads);
    const entry = buffers.rowTable / 4 + row * 2;
    const [query, out] = [at(q, row, qStride), at(attended, row, layer.heads * headSize)];
    kernels.attention(query, shape, words[entry], words[entry + 1], head - rowStart, rowEnd, scratch, out);
    head = rowStart + rowEnd;
  }
  team.barrier();

  addProduct(machine, index, "attn_output", attended, layer.heads * headSize, rows);
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

/** y = norm(y) for each head by itself, where the layer has such a norm; each thread its share of the rows. */
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
  const { headSize, normEpsilon } = model;
  const weight = weights.vector(role);
  for (let row = team.first(rows); row < team.end(rows); row++) {
    for (let head = 0; head < heads; head++) {
      const from = at(y, row, stride) + head * headSize * 4;
      kernels.rmsNorm(from, weight, headSize, normEpsilon, from);
    }
  }
}

/** x += ffn_down · (silu(gate) × up), with gate, up = W · norm(x) */
function feedForward(machine: Machine, index: number, rows: number): void {
  const { model, buffers, weights } = machine;
  const { gated } = buffers;
  const columns = model.layers[index].feedForward;

  const rounded = isRounded(machine, index, GATE_UP);
  const norm = normalize(machine, weights.vector("ffn_norm"), rows, rounded);
  const normed = inBytes(machine, index, GATE_UP, norm, rows);
  weights.each("ffn_gate_up", (share) => gate(machine, share, normed, rows, columns));
  addProduct(machine, index, "ffn_down", gated, columns, rows);
}

/** gated = silu(gate) × up, for the columns that some panels of gate and up give. */
function gate(machine: Machine, share: Share, input: Input, rows: number, columns: number): void {
  const { buffers, kernels, team } = machine;
  const { part } = share;
  const { gated } = buffers;
  // Little enough at a time that it stays in the processor's cache.
  const gateUp = buffers.gateUp + team.thread * buffers.gateUpBytes;
  for (let done = 0; done < share.count; done += GATE_UP_PANELS) {
    const panels = Math.min(GATE_UP_PANELS, share.count - done);
    const piece = { part, panels: share.panels + done * part.panelBytes, firstPanel: 0, count: panels };
    multiplyShare(piece, kernels, input, rows, gateUp, GATE_UP_STRIDE);
    const first = ((share.firstPanel + done) / 2) * PANEL_ROWS;
    const count = Math.min((panels / 2) * PANEL_ROWS, columns - first);
    for (let row = 0; row < rows; row++)
      kernels.swiglu(at(gateUp, row, GATE_UP_STRIDE), count, at(gated, row, columns) + first * 4);
  }
}

/** logits = output · norm(x), for the rows that asked; with a lens for all that it has kept of them */
function output(machine: Machine, asked: number, lens: Lens | undefined): void {
  const { model, buffers, kernels, weights, team, words } = machine;
  // Any thread may have written the rows that asked.
  team.barrier();
  const rounded = isRounded(machine, model.layers.length, OUTPUT);
  const matrix = model.tiedOutput ? "token_embd" : "output";
  const norm = weights.vector("output_norm");
  if (lens !== undefined) {
    lens.normalize(norm, rounded);
    team.barrier();
    weights.each(matrix, lens.read);
    return;
  }
  const normed = normalize(machine, norm, asked, rounded, (index) => {
    return words[buffers.askedTable / 4 + index];
  });
  weights.multiply(matrix, kernels, normed, asked, buffers.logits, buffers.logitsStride);
}

/** norm(x) of the rows (or of those that `rowOf` names), ready to be multiplied. */
function normalize(
  machine: Machine,
  weight: Address,
  rows: number,
  rounded: boolean,
  rowOf?: (index: number) => number,
): Input {
  const { model, buffers, kernels, team } = machine;
  const { x, normed } = buffers;
  const { width, normEpsilon } = model;
  const input = inputOf(machine, normed);
  // The same rows as in the sum that made x: no barrier needed before.
  const [first, end] = [team.firstRow(rows), team.endRow(rows)];
  for (let index = first; index < end; index++) {
    const from = at(x, rowOf?.(index) ?? index, width);
    kernels.rmsNorm(from, weight, width, normEpsilon, at(normed, index, width));
  }
  if (rounded) kernels.quantizeRows(normed, rows, width, first, end, 0, width, input.rounded, input.scales);
  team.barrier();
  return input;
}

/**
 * The same input in tiles of 8 bits, where these are exact and the prompt is long. Only for what has just been
 * normalized, which suffers least: two thirds of the arithmetic.
 */
function inBytes(
  machine: Machine,
  layer: number,
  roles: readonly TensorRole[],
  input: Input,
  rows: number,
): Input {
  const { model, buffers, int8, team, dtypes } = machine;
  if (int8 === undefined || rows < BYTE_ROWS) return input;
  if (roles.some((role) => dtypes[layer].get(role) !== "q8")) return input;
  const { bytes: q, byteScales: scales, byteSums: sums } = buffers;
  const end = Math.min(team.endRow(rows), rows - (rows % 4));
  int8.quantizeTiles(input.x, model.width, team.firstRow(rows), end, q, scales, sums);
  team.barrier();
  return { ...input, bytes: { kernels: int8, q, scales, sums } };
}

/** x += W · values; between writing these and this there must be a barrier. */
function addProduct(
  machine: Machine,
  layer: number,
  role: "attn_output" | "ffn_down",
  values: Address,
  columns: number,
  rows: number,
): void {
  const { model, buffers, kernels, weights, team, dtypes } = machine;
  const { x, projected, projectedStride } = buffers;
  const input = inputOf(machine, values);
  if (isQuantized(dtypes[layer].get(role)!)) {
    const { first, end } = columnShare(team, columns);
    kernels.quantizeRows(values, rows, columns, 0, rows, first, end, input.rounded, input.scales);
  }
  team.barrier();
  weights.multiply(role, kernels, input, rows, projected, projectedStride);
  for (let row = team.firstRow(rows); row < team.endRow(rows); row++)
    kernels.add(at(projected, row, projectedStride), at(x, row, model.width), model.width);
}

/** Whether what these matrices multiply must be rounded, for one of them is quantized. */
function isRounded({ dtypes }: Machine, stage: number, roles: readonly TensorRole[]): boolean {
  return roles.some((role) => isQuantized(dtypes[stage].get(role) ?? "f32"));
}

function inputOf({ buffers }: Machine, x: Address): Input {
  return { x, rounded: buffers.rounded, scales: buffers.roundedScales };
}

/** A thread's share of columns, in whole blocks. */
function columnShare(team: Team, columns: number): { first: number; end: number } {
  const blocks = Math.ceil(columns / BLOCK_COLUMNS);
  return {
    first: Math.min(columns, team.first(blocks) * BLOCK_COLUMNS),
    end: Math.min(columns, team.end(blocks) * BLOCK_COLUMNS),
  };
}

/** Address of a row of float32 values. */
function at(address: Address, row: number, stride: number): Address {
  return address + row * stride * 4;
}
