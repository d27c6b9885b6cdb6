/**
 * The logit lens (nostalgebraist, 2020: "interpreting GPT: the logit lens"): what the model would say if it ended after
 * each of its layers. The residual stream of the asked rows is kept after every layer; where the output matrix streams
 * by, once, every chunk of it is multiplied with all that was kept, and of the logits stays only what is needed of a
 * distribution: its most probable tokens and its normalization. The last stage's logits are those of the sweep.
 */
import { SluiceError } from "../errors.ts";
import type { Address } from "../kernels/types.ts";
import type { Hyperparameters } from "../model/types.ts";
import { BLOCK_COLUMNS, PANEL_ROWS } from "../store/panel.ts";
import { MAXIMUM_ASKED } from "./buffers.ts";
import type { Machine } from "./machine.ts";
import { finishLogits, normalizeRows } from "./steps.ts";
import type { TokenLogprob } from "./types.ts";
import { multiplyShare, type Share } from "./weights.ts";

/** The most probable tokens that stay of each distribution. */
export const LENS_TOKENS = 10;

/** Values of a row in `found`: the largest logit, the sum of exp(logit - largest), then logits and ids of the best. */
const LOGITS = 2;
const IDS = LOGITS + LENS_TOKENS;
const ROW_VALUES = IDS + LENS_TOKENS;

/** Where a sweep with a lens keeps its rows. Stages are the embedding, then each layer. */
interface LensBuffers {
  readonly stages: number;
  /** (stages, asked, width): the residual stream, later normalized */
  readonly kept: Address;
  /** The same for quantized weights: (stages, asked, width) int16, (stages, asked, width / 32) */
  readonly rounded: Address;
  readonly scales: Address;
  /** (threads, stages, asked, ROW_VALUES) float64: what each thread has found in its share of the vocabulary */
  readonly found: Address;
  readonly end: Address;
}

function place(model: Hyperparameters, threads: number, start: Address): LensBuffers {
  const stages = model.layers.length + 1;
  const rows = stages * MAXIMUM_ASKED;
  const aligned = (address: Address) => Math.ceil(address / 64) * 64;
  const rounded = aligned(start + rows * model.width * 4);
  const scales = aligned(rounded + rows * model.width * 2);
  const found = aligned(scales + rows * Math.ceil(model.width / BLOCK_COLUMNS) * 8);
  return { stages, kept: start, rounded, scales, found, end: found + threads * rows * ROW_VALUES * 8 };
}

/** Bytes that a sweep with a lens needs in the engine's memory. */
export function lensBytes(model: Hyperparameters, threads: number): number {
  return place(model, threads, 0).end;
}

/** One compute thread's part of it. */
export class Lens {
  readonly #machine: Machine;
  readonly #asked: number;
  readonly #buffers: LensBuffers;
  readonly #floats: Float32Array;
  /** (stages × asked, ROW_VALUES), of this thread alone */
  readonly #found: Float64Array;

  /** @param start of `lensBytes` in the engine's memory */
  constructor(machine: Machine, threads: number, asked: number, start: Address) {
    const { model, team, words } = machine;
    this.#machine = machine;
    this.#asked = asked;
    this.#buffers = place(model, threads, start);
    this.#floats = new Float32Array(words.buffer);
    const { stages, found } = this.#buffers;
    const rows = stages * MAXIMUM_ASKED;
    this.#found = new Float64Array(
      words.buffer,
      found + team.thread * rows * ROW_VALUES * 8,
      rows * ROW_VALUES,
    );
    this.#found.fill(-Infinity);
  }

  /** Keep x of the asked rows that are this thread's. */
  keep(stage: number, rows: number): void {
    const { model, buffers, team, words } = this.#machine;
    const floats = this.#floats;
    for (let index = 0; index < this.#asked; index++) {
      const row = words[buffers.askedTable / 4 + index];
      if (row < team.firstRow(rows) || row >= team.endRow(rows)) continue;
      const from = buffers.x / 4 + row * model.width;
      floats.copyWithin(this.#row(stage, index) / 4, from, from + model.width);
    }
  }

  /** Normalize what was kept, this thread's share; before and after it there must be a barrier. */
  normalize(rounded: boolean): void {
    const { model, kernels, team } = this.#machine;
    const { width, layers } = model;
    const stages = [team.first(this.#buffers.stages), team.end(this.#buffers.stages)] as const;
    const rows = [stages[0] * this.#asked, stages[1] * this.#asked] as const;
    const place = (row: number) => this.#row(Math.floor(row / this.#asked), row % this.#asked);
    normalizeRows(this.#machine, layers.length, "output_norm", rows, place, place);
    for (let stage = stages[0]; stage < stages[1]; stage++) {
      const { x, rounded: q, scales } = this.#input(stage);
      if (rounded) kernels.quantizeRows(x, this.#asked, width, 0, this.#asked, 0, width, q, scales);
    }
  }

  /** Multiply some panels of the output matrix with all that was kept. Leaves the logits of the last stage. */
  readonly read = (share: Share): void => {
    const { buffers, kernels, model } = this.#machine;
    const { logits, logitsStride } = buffers;
    const first = share.firstPanel * PANEL_ROWS;
    const end = Math.min(first + share.count * PANEL_ROWS, model.vocabulary);
    if (first >= end) return;
    for (let stage = 0; stage < this.#buffers.stages; stage++) {
      multiplyShare(share, kernels, this.#input(stage), this.#asked, logits, logitsStride);
      for (let index = 0; index < this.#asked; index++) {
        const row = logits / 4 + index * logitsStride;
        finishLogits(this.#machine, (row + first) * 4, end - first);
        const found = (stage * MAXIMUM_ASKED + index) * ROW_VALUES;
        this.#find(this.#floats.subarray(row + first, row + end), first, found);
      }
    }
  };

  /** Take the logits of tokens from `first` on into account. */
  #find(logits: Float32Array, first: number, row: number): void {
    const found = this.#found;
    const [best, last] = [row + LOGITS, row + IDS - 1];
    for (let i = 0; i < logits.length; i++) {
      const logit = logits[i];
      // Also where it is NaN, so that the sum tells of it.
      if (logit <= found[last]) continue;
      let at = last;
      for (; at > best && logit > found[at - 1]; at--) {
        found[at] = found[at - 1];
        found[at + LENS_TOKENS] = found[at + LENS_TOKENS - 1];
      }
      found[at] = logit;
      found[at + LENS_TOKENS] = first + i;
    }
    const largest = found[best];
    let sum = found[row] === -Infinity ? 0 : found[row + 1] * Math.exp(found[row] - largest);
    for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i] - largest);
    found[row] = largest;
    found[row + 1] = sum;
  }

  #row(stage: number, index: number): Address {
    return this.#buffers.kept + (stage * MAXIMUM_ASKED + index) * this.#machine.model.width * 4;
  }

  #input(stage: number) {
    const { model, buffers, team } = this.#machine;
    const { width } = model;
    const rows = stage * MAXIMUM_ASKED;
    return {
      scratch: buffers.scratch + team.thread * buffers.scratchBytes,
      x: this.#row(stage, 0),
      rounded: this.#buffers.rounded + rows * width * 2,
      scales: this.#buffers.scales + rows * Math.ceil(width / BLOCK_COLUMNS) * 8,
    };
  }
}

/**
 * What the threads have found, put together.
 *
 * @param start of `lensBytes` in `memory`
 * @returns for each asked row, for each stage, the most probable tokens, the first one first
 * @throws SluiceError `bad-model` where logits are no distribution
 */
export function lensResult(
  model: Hyperparameters,
  threads: number,
  asked: number,
  memory: SharedArrayBuffer | ArrayBuffer,
  start: Address,
): TokenLogprob[][][] {
  const { stages, found } = place(model, threads, start);
  const rows = stages * MAXIMUM_ASKED;
  const values = new Float64Array(memory, found, threads * rows * ROW_VALUES);
  return Array.from({ length: asked }, (_, index) =>
    Array.from({ length: stages }, (_, stage) => {
      const row = (thread: number) => {
        const from = (thread * rows + stage * MAXIMUM_ASKED + index) * ROW_VALUES;
        return values.subarray(from, from + ROW_VALUES);
      };
      return merge(
        Array.from({ length: threads }, (_, thread) => row(thread)),
        stage,
      );
    }),
  );
}

function merge(shares: readonly Float64Array[], stage: number): TokenLogprob[] {
  const seen = shares.filter((share) => share[0] !== -Infinity);
  const largest = Math.max(...seen.map((share) => share[0]));
  const total =
    largest + Math.log(seen.reduce((sum, share) => sum + share[1] * Math.exp(share[0] - largest), 0));
  if (!Number.isFinite(total)) {
    throw new SluiceError("bad-model", `the logits after stage ${stage} are no numbers`, {
      next: "Check the unpacked model with `sluice cache verify`; if it is sound, the model file itself is damaged.",
    });
  }
  return seen
    .flatMap((share) =>
      Array.from(share.subarray(LOGITS, IDS), (logit, i) => ({ id: share[IDS + i], logit })),
    )
    .filter(({ logit }) => logit > -Infinity)
    .sort((a, b) => b.logit - a.logit || a.id - b.id)
    .slice(0, LENS_TOKENS)
    .map(({ id, logit }) => ({ id, logprob: logit - total }));
}
