import { attentionScratchBytes } from "../kernels/kv-layout.ts";
import type { Address } from "../kernels/types.ts";
import type { Hyperparameters } from "../model/types.ts";
import { packedScratchBytes } from "../store/packed-panel.ts";
import { BLOCK_COLUMNS, PANEL_ROWS } from "../store/panel.ts";
import type { Arena } from "./arena.ts";
import { BLOCK_POSITIONS } from "./kv-block.ts";

/** Rows (tokens) in a sweep at most: longer prompts take several. */
export const MAXIMUM_ROWS = 128;
/** Rows of a sweep that may ask for logits, where more are not wanted; of one with a lens always. */
export const MAXIMUM_ASKED = 16;

/** Panels fill up to four rows, so matrix products write multiples of four values. */
export function padded(values: number): number {
  return Math.ceil(values / PANEL_ROWS) * PANEL_ROWS;
}

/** Panels of gate and up that are multiplied at a time, and the values that they give. */
export const GATE_UP_PANELS = 32;
export const GATE_UP_STRIDE = GATE_UP_PANELS * PANEL_ROWS;

/**
 * Where the activations of a sweep lie. All float32, a row for each token; strides count values.
 * Allocated once; a sweep of few rows touches only the beginning of each. What is not needed at the same time shares
 * its place.
 */
export interface Buffers {
  /** For each row two uint32: address of its sequence's table of KV blocks, and its position. */
  readonly rowTable: Address;
  /** Indices (uint32) of the rows that want logits. */
  readonly askedTable: Address;
  /** (rows, rope dimensions): cosine and sine in turn */
  readonly ropeTable: Address;
  /** The same for layers with a window, where these rotate otherwise. */
  readonly localRopeTable: Address;
  /** (rows, width): the residual stream */
  readonly x: Address;
  /** (rows, width): x after a norm */
  readonly normed: Address;
  /** (rows, qStride), (rows, kvStride) twice */
  readonly q: Address;
  readonly k: Address;
  readonly v: Address;
  /** (rows, heads × headSize): what attention gives */
  readonly attended: Address;
  /** For each thread (rows, GATE_UP_STRIDE): gate and up, interleaved by panel */
  readonly gateUp: Address;
  readonly gateUpBytes: number;
  /** (feedForward) each */
  readonly gateBias: Address;
  readonly upBias: Address;
  /** (rows, feedForward): after the activation; where q, k, v and attended were */
  readonly gated: Address;
  /** (rows, projectedStride): what a block adds to x; where normed was, if that is not needed again */
  readonly projected: Address;
  /** What a product reads, rounded for quantized weights: (rows, columns) int16, (rows, columns / 32, 2) */
  readonly rounded: Address;
  readonly roundedScales: Address;
  /** The same in tiles of 8 bits, for long prompts: (rows, width) int8, (rows, width / 32) twice */
  readonly bytes: Address;
  readonly byteScales: Address;
  readonly byteSums: Address;
  /** For each thread what attention works in, or what a panel is unfolded in: lines of the processor's cache of its own */
  readonly scratch: Address;
  /** (asked rows, logitsStride) */
  readonly logits: Address;
  readonly qStride: number;
  readonly kvStride: number;
  readonly projectedStride: number;
  readonly logitsStride: number;
  readonly scratchBytes: number;
}

export function allocateBuffers(
  arena: Pick<Arena, "allocate">,
  model: Hyperparameters,
  threads: number,
  maximumAsked = MAXIMUM_ASKED,
): Buffers {
  const widest = (values: (layer: Hyperparameters["layers"][number]) => number) =>
    Math.max(...model.layers.map(values));
  const heads = widest((layer) => layer.heads) * model.headSize;
  const feedForward = widest((layer) => layer.feedForward);
  const qStride = padded(heads);
  const kvStride = padded(widest((layer) => layer.kvHeads) * model.headSize);
  const projectedStride = padded(model.width);
  const logitsStride = padded(model.vocabulary);
  const widestInput = Math.max(model.width, heads, feedForward);
  const scratchBytes =
    Math.ceil(
      Math.max(attentionScratchBytes(model.headSize, BLOCK_POSITIONS), packedScratchBytes(widestInput)) / 64,
    ) * 64;
  const rowBytes = (values: number) => MAXIMUM_ROWS * values * 4;
  const rows = (values: number) => arena.allocate(rowBytes(values));
  const normed = rows(model.width);
  const q = rows(Math.max(qStride + 2 * kvStride + heads, feedForward));
  const k = q + rowBytes(qStride);
  const gateUpBytes = rowBytes(GATE_UP_STRIDE);
  return {
    rowTable: rows(2),
    askedTable: rows(1),
    ropeTable: rows(model.rope.dimensions),
    localRopeTable: model.localRope ? rows(model.localRope.dimensions) : 0,
    x: rows(model.width),
    normed,
    q,
    k,
    v: k + rowBytes(kvStride),
    attended: k + 2 * rowBytes(kvStride),
    gateUp: arena.allocate(threads * gateUpBytes),
    gateUpBytes,
    gateBias: arena.allocate(feedForward * 4),
    upBias: arena.allocate(feedForward * 4),
    gated: q,
    // Each thread makes normed rows where it has taken the same rows of projected from, which takes equal strides.
    projected: projectedStride === model.width && !model.parallel ? normed : rows(projectedStride),
    rounded: rows(widestInput / 2),
    roundedScales: rows(2 * Math.ceil(widestInput / BLOCK_COLUMNS)),
    bytes: rows(Math.ceil(model.width / 4)),
    byteScales: rows(Math.ceil(model.width / BLOCK_COLUMNS)),
    byteSums: rows(Math.ceil(model.width / BLOCK_COLUMNS)),
    scratch: arena.allocate(threads * scratchBytes),
    scratchBytes,
    logits: arena.allocate(maximumAsked * logitsStride * 4),
    qStride,
    kvStride,
    projectedStride,
    logitsStride,
  };
}
