/** Steps that attention, feed-forward and output have in common. All threads take each of them together. */
import type { Address } from "../kernels/types.ts";
import type { TensorRole } from "../model/types.ts";
import { BLOCK_COLUMNS, isQuantized } from "../store/panel.ts";
import { at, type Machine } from "./machine.ts";
import type { Input } from "./weights.ts";

/** norm(x), with the norm of this role and its bias: rows [first, end), this thread's, from x to y (width each). */
export function normalizeRows(
  machine: Machine,
  stage: number,
  role: "attn_norm" | "ffn_norm" | "output_norm",
  [first, end]: readonly [number, number],
  from: (row: number) => Address,
  to: (row: number) => Address,
): void {
  const { model, kernels, weights, dtypes } = machine;
  const { width, normEpsilon, norm } = model;
  const weight = weights.vector(role);
  const normalize = norm === "layer" ? kernels.layerNorm : kernels.rmsNorm;
  for (let row = first; row < end; row++) normalize(from(row), weight, width, normEpsilon, to(row));
  if (!dtypes[stage].has(`${role}_bias`)) return;
  const bias = weights.vector(`${role}_bias`);
  for (let row = first; row < end; row++) kernels.add(bias, to(row), width);
}

/**
 * What a part of a layer reads: norm(x) of all rows, ready to be multiplied with these matrices. Where the layer has no
 * such norm, x as it is or, in a parallel feed-forward, what attention has read.
 */
export function readStream(
  machine: Machine,
  layer: number,
  role: "attn_norm" | "ffn_norm",
  matrices: readonly TensorRole[],
  rows: number,
): Input {
  const { model, buffers, team, dtypes } = machine;
  const { x, normed } = buffers;
  const { width } = model;
  // The same rows as in the sum that made x: no barrier needed before.
  const [first, end] = [team.firstRow(rows), team.endRow(rows)];
  const present = dtypes[layer].has(role);
  if (present) {
    const from = (row: number) => at(x, row, width);
    normalizeRows(machine, layer, role, [first, end], from, (row) => at(normed, row, width));
  }
  const input = inputOf(machine, present || (role === "ffn_norm" && model.parallel) ? normed : x);
  if (isRounded(machine, layer, matrices))
    roundRows(machine, input, rows, width, { rows: [first, end], columns: [0, width] });
  team.barrier();
  return inBytes(machine, layer, matrices, input);
}

/**
 * The same input in tiles of 8 bits, where these are exact and the prompt is long. Only for what has just been
 * normalized, which suffers least: two thirds of the arithmetic.
 */
function inBytes(machine: Machine, layer: number, roles: readonly TensorRole[], input: Input): Input {
  const { model, buffers, int8, team, tiles, dtypes } = machine;
  const rows = tiles.bytes;
  if (int8 === undefined || rows === 0 || input.x === buffers.x) return input;
  if (roles.some((role) => dtypes[layer].get(role) !== "q8")) return input;
  const { bytes: q, byteScales: scales, byteSums: sums } = buffers;
  // All threads have written their share of x by now.
  int8.quantizeTiles(input.x, model.width, team.firstRow(rows), team.endRow(rows), q, scales, sums);
  team.barrier();
  return { ...input, bytes: { kernels: int8, q, scales, sums, rows } };
}

/**
 * x += W · values, with the bias, norm and multiplier that the model has for it; between writing the values and this
 * there must be a barrier.
 */
export function addProduct(
  machine: Machine,
  layer: number,
  role: "attn_output" | "ffn_down",
  postNorm: "attn_post_norm" | "ffn_post_norm",
  values: Address,
  columns: number,
  rows: number,
): void {
  const { model, buffers, kernels, weights, team, dtypes } = machine;
  const { x, projected, projectedStride } = buffers;
  const { width, normEpsilon, residualScale } = model;
  const input = inputOf(machine, values);
  if (isQuantized(dtypes[layer].get(role)!)) {
    roundRows(machine, input, rows, columns, { rows: [0, rows], columns: columnShare(team, columns) });
  }
  team.barrier();
  weights.multiply(role, kernels, input, rows, projected, projectedStride);
  const [first, end] = [team.firstRow(rows), team.endRow(rows)];
  if (dtypes[layer].has(`${role}_bias`)) {
    const bias = weights.vector(`${role}_bias`);
    for (let row = first; row < end; row++) kernels.add(bias, at(projected, row, projectedStride), width);
  }
  if (dtypes[layer].has(postNorm)) {
    const weight = weights.vector(postNorm);
    for (let row = first; row < end; row++) {
      const place = at(projected, row, projectedStride);
      kernels.rmsNorm(place, weight, width, normEpsilon, place);
    }
  }
  for (let row = first; row < end; row++) {
    const place = at(projected, row, projectedStride);
    if (residualScale !== undefined) kernels.scale(place, residualScale, width);
    kernels.add(place, at(x, row, width), width);
  }
}

/** What multiplies and soft-caps logits, from their products on. */
export function finishLogits({ model, kernels }: Machine, logits: Address, count: number): void {
  if (model.logitScale !== undefined) kernels.scale(logits, model.logitScale, count);
  if (model.logitCap !== undefined) kernels.softCap(logits, model.logitCap, count);
}

/** Whether what these matrices multiply must be rounded, for one of them is quantized. */
export function isRounded({ dtypes }: Machine, stage: number, roles: readonly TensorRole[]): boolean {
  return roles.some((role) => isQuantized(dtypes[stage].get(role) ?? "f32"));
}

/** @param tiled how many of the rows are multiplied four at a time */
export function inputOf({ buffers, team, tiles, packed }: Machine, x: Address, tiled = tiles.tiled): Input {
  const scratch = buffers.scratch + team.thread * buffers.scratchBytes;
  return {
    x,
    rounded: buffers.rounded,
    scales: buffers.roundedScales,
    scratch,
    tiled,
    ...(packed && { tiledRounded: tiled }),
  };
}

/**
 * Round x as quantized matrices take it: tiles are packed together, rows that are multiplied one by one lie by themselves.
 *
 * @param share which rows and columns, each from the first up to, not including, the end
 */
export function roundRows(
  { kernels }: Machine,
  { x, rounded, scales, tiledRounded }: Input,
  rows: number,
  columns: number,
  share: { readonly rows: readonly [number, number]; readonly columns: readonly [number, number] },
): void {
  const [first, end] = share.rows;
  const tiled = tiledRounded ?? rows - (rows % 4);
  if (first < tiled)
    kernels.quantizeRows(x, tiled, columns, first, Math.min(end, tiled), ...share.columns, rounded, scales);
  for (let row = Math.max(first, tiled); row < end; row++) {
    const [q, rowScales] = [rounded + row * columns * 2, scales + (row * columns) / 4];
    kernels.quantizeRows(at(x, row, columns), 1, columns, 0, 1, ...share.columns, q, rowScales);
  }
}

/** A thread's share of columns, in whole blocks. */
function columnShare(team: Machine["team"], columns: number): readonly [first: number, end: number] {
  const blocks = Math.ceil(columns / BLOCK_COLUMNS);
  return [
    Math.min(columns, team.first(blocks) * BLOCK_COLUMNS),
    Math.min(columns, team.end(blocks) * BLOCK_COLUMNS),
  ];
}
