/**
 * The transformer: embedding → layers → output, for a batch of rows. Every compute thread runs this same program.
 *
 * A row is one token of one sequence. Rows of a sequence lie in the order of their positions, and each sees what
 * the rows before it left in the KV cache.
 */
import { PANEL_ROWS } from "../store/panel.ts";
import type { Job } from "../stream/control.ts";
import { attention } from "./attention.ts";
import { feedForward } from "./feed-forward.ts";
import { Lens } from "./lens.ts";
import { at, type Machine } from "./machine.ts";
import { finishLogits, inputOf, isRounded, normalizeRows, roundRows } from "./steps.ts";

const OUTPUT = ["output", "token_embd"] as const;

/**
 * Run a sweep. Row and asked tables, rope tables and x (the embeddings) are filled in already; the logits of the
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

/** logits = output · norm(x), for the rows that asked; with a lens for all that it has kept of them */
function output(machine: Machine, asked: number, lens: Lens | undefined): void {
  const { model, buffers, kernels, weights, team, words } = machine;
  const { x, normed, askedTable, logits, logitsStride } = buffers;
  const { width } = model;
  const stage = model.layers.length;
  // Any thread may have written the rows that asked.
  team.barrier();
  const rounded = isRounded(machine, stage, OUTPUT);
  const matrix = model.tiedOutput ? "token_embd" : "output";
  if (lens !== undefined) {
    lens.normalize(rounded);
    team.barrier();
    weights.each(matrix, lens.read);
    return;
  }
  const [first, end] = [team.firstRow(asked), team.endRow(asked)];
  const from = (index: number) => at(x, words[askedTable / 4 + index], width);
  normalizeRows(machine, stage, "output_norm", [first, end], from, (index) => at(normed, index, width));
  const input = inputOf(machine, normed, machine.tiles.tiledAsked);
  if (rounded) roundRows(machine, input, asked, width, { rows: [first, end], columns: [0, width] });
  team.barrier();
  weights.multiply(matrix, kernels, input, asked, logits, logitsStride);
  if (model.logitScale === undefined && model.logitCap === undefined) return;
  const panels = (asked * logitsStride) / PANEL_ROWS;
  const panel = team.first(panels);
  finishLogits(machine, logits + panel * PANEL_ROWS * 4, (team.end(panels) - panel) * PANEL_ROWS);
}
