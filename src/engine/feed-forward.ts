import { PANEL_ROWS } from "../store/panel.ts";
import { GATE_UP_PANELS, GATE_UP_STRIDE } from "./buffers.ts";
import { at, type Machine } from "./machine.ts";
import { addProduct, readStream } from "./steps.ts";
import { type Input, multiplyShare, type Share } from "./weights.ts";

const GATE_UP = ["ffn_gate_up"] as const;
const UP = ["ffn_up"] as const;

/** x += ffn_down · (activation(gate) × up), with gate, up = W · norm(x); or, without a gate, ffn_down · activation(up) */
export function feedForward(machine: Machine, index: number, rows: number): void {
  const { model, buffers, weights, dtypes } = machine;
  const columns = model.layers[index].feedForward;
  const [role] = dtypes[index].has("ffn_gate_up") ? GATE_UP : UP;

  const input = readStream(machine, index, "ffn_norm", [role], rows);
  const biases = keepBiases(machine, index, columns);
  const activate = role === "ffn_up" ? activateUp : gate;
  weights.each(role, (share) => activate(machine, share, input, rows, columns, biases));
  addProduct(machine, index, "ffn_down", "ffn_post_norm", buffers.gated, columns, rows);
}

/** Where the biases of gate and up are, which stream by before their matrix. */
interface Biases {
  readonly gate?: number;
  readonly up?: number;
}

/** Copy the biases that the layer has to where they stay until its end. */
function keepBiases(
  { buffers, weights, team, dtypes, words }: Machine,
  layer: number,
  columns: number,
): Biases {
  const kept: { gate?: number; up?: number } = {};
  for (const which of ["gate", "up"] as const) {
    if (!dtypes[layer].has(`ffn_${which}_bias`)) continue;
    const from = weights.vector(`ffn_${which}_bias`);
    const to = which === "gate" ? buffers.gateBias : buffers.upBias;
    if (team.thread === 0) words.copyWithin(to / 4, from / 4, from / 4 + columns);
    kept[which] = to;
  }
  if (kept.gate !== undefined || kept.up !== undefined) team.barrier();
  return kept;
}

/** gated = activation(gate) × up, for the columns that some panels of gate and up give. */
function gate(
  machine: Machine,
  share: Share,
  input: Input,
  rows: number,
  columns: number,
  biases: Biases,
): void {
  const { buffers, kernels, model } = machine;
  const glu = model.activation === "gelu" ? kernels.geglu : kernels.swiglu;
  inPieces(machine, share, input, rows, (gateUp, firstPanel, panels) => {
    const first = (firstPanel / 2) * PANEL_ROWS;
    const count = Math.min((panels / 2) * PANEL_ROWS, columns - first);
    for (let row = 0; row < rows; row++) {
      const from = at(gateUp, row, GATE_UP_STRIDE);
      addInterleaved(machine, biases.gate, first, count, from);
      addInterleaved(machine, biases.up, first, count, from + PANEL_ROWS * 4);
      glu(from, count, at(buffers.gated, row, columns) + first * 4);
    }
  });
}

/** y += bias, for values of which every other four are others'. */
function addInterleaved(
  { kernels }: Machine,
  bias: number | undefined,
  first: number,
  count: number,
  y: number,
): void {
  if (bias === undefined) return;
  for (let i = 0; i < count; i += PANEL_ROWS)
    kernels.add(bias + (first + i) * 4, y + i * 8, Math.min(PANEL_ROWS, count - i));
}

/** gated = gelu(up), for the columns that some panels of up give: no model without a gate has another activation. */
function activateUp(
  machine: Machine,
  share: Share,
  input: Input,
  rows: number,
  columns: number,
  { up }: Biases,
): void {
  const { buffers, kernels } = machine;
  inPieces(machine, share, input, rows, (piece, firstPanel, panels) => {
    const first = firstPanel * PANEL_ROWS;
    const count = Math.min(panels * PANEL_ROWS, columns - first);
    for (let row = 0; row < rows; row++) {
      const from = at(piece, row, GATE_UP_STRIDE);
      if (up !== undefined) kernels.add(up + first * 4, from, count);
      kernels.gelu(from, count, at(buffers.gated, row, columns) + first * 4);
    }
  });
}

/** Multiply some panels, so few at a time that what they give stays in the processor's cache, and use that. */
function inPieces(
  { buffers, kernels, team }: Machine,
  { part, ...share }: Share,
  input: Input,
  rows: number,
  use: (values: number, firstPanel: number, panels: number) => void,
): void {
  const values = buffers.gateUp + team.thread * buffers.gateUpBytes;
  for (let done = 0; done < share.count; done += GATE_UP_PANELS) {
    const count = Math.min(GATE_UP_PANELS, share.count - done);
    const piece = { part, panels: share.panels + done * part.panelBytes, firstPanel: 0, count };
    multiplyShare(piece, kernels, input, rows, values, GATE_UP_STRIDE);
    use(values, share.firstPanel + done, count);
  }
}
