import type { Address, Int8Kernels, Kernels } from "../kernels/types.ts";
import type { TensorRole } from "../model/types.ts";
import { isPacked } from "../store/packed-panel.ts";
import { isLow, isQuantized, PANEL_ROWS } from "../store/panel.ts";
import type { PartCursor } from "../stream/part-cursor.ts";
import type { Part } from "../stream/sweep-plan.ts";
import type { Team } from "./team.ts";

/**
 * What a matrix is multiplied with: (rows, columns) as float32, and, for quantized matrices, rounded as
 * `Kernels.quantizeRows` leaves it.
 */
export interface Input {
  readonly x: Address;
  readonly rounded: Address;
  readonly scales: Address;
  /** Where this thread may unfold weights: `packedScratchBytes(columns)` */
  readonly scratch: Address;
  /**
   * How many of the first rows are multiplied four at a time, the others one by one, as float32 and where they are
   * rounded; absent: as many as can be.
   */
  readonly tiled?: number;
  readonly tiledRounded?: number;
  /** Whole tiles of four rows in 8 bits, for a q8 matrix, to be used instead where they are there. */
  readonly bytes?: {
    readonly kernels: Int8Kernels;
    readonly q: Address;
    readonly scales: Address;
    readonly sums: Address;
    /** How many rows: whole tiles. */
    readonly rows: number;
  };
}

/** Hands out the parts of the weights in the order in which they are used. */
type Cursor = Pick<PartCursor, "next" | "panels">;

/** Some panels of a matrix, in one thread's hands. */
export interface Share {
  readonly part: Part;
  readonly panels: Address;
  /** The first of them in the matrix, and how many. */
  readonly firstPanel: number;
  readonly count: number;
}

/** The products of float32 activations, and of rounded ones, by the dtype of the weights. */
const FLOAT_PRODUCTS = { f32: "matmulF32", f16: "matmulF16", bf16: "matmulBf16" } as const;
const BLOCK_PRODUCTS = { q8: "matmulQ8", q4: "matmulQ4" } as const;

/** The weights of a sweep as the forward pass sees them: asked for by name, in the order in which they stream by. */
export class Weights {
  readonly #cursor: Cursor;
  readonly #team: Team;

  constructor(cursor: Cursor, team: Team) {
    this.#cursor = cursor;
    this.#team = team;
  }

  /** A vector (columns) of float32; it stays at this address until the next weights are asked for. */
  vector(role: TensorRole): Address {
    this.#next(role);
    return this.#cursor.panels(0, 1);
  }

  /**
   * y = W x for each row of x, this thread's share of every chunk as it arrives, then a barrier.
   *
   * @param y (rows, yStride)
   */
  multiply(
    role: TensorRole,
    kernels: Kernels,
    input: Input,
    rows: number,
    y: Address,
    yStride: number,
  ): void {
    this.each(role, (share) => multiplyShare(share, kernels, input, rows, y, yStride));
  }

  /** Visit this thread's share of every chunk of a matrix as it arrives, then a barrier. */
  each(role: TensorRole, visit: (share: Share) => void): void {
    for (;;) {
      const part = this.#next(role);
      const groups = part.panels / part.panelGroup;
      const first = this.#team.first(groups) * part.panelGroup;
      const count = this.#team.end(groups) * part.panelGroup - first;
      const panels = this.#cursor.panels(first, count);
      visit({ part, panels, firstPanel: part.firstPanel + first, count });
      if (part.firstPanel + part.panels === part.tensorPanels) break;
    }
    this.#team.barrier();
  }

  #next(role: TensorRole): Part {
    const part = this.#cursor.next();
    if (part.role !== role) throw new Error(`the layer file has ${part.role} where ${role} belongs`);
    return part;
  }
}

/** y = W x for some panels of W, at their place in y; for each row of x. */
export function multiplyShare(
  { part, panels, firstPanel, count }: Share,
  kernels: Kernels,
  { x, rounded, scales, scratch, tiled, tiledRounded, bytes }: Input,
  rows: number,
  y: Address,
  yStride: number,
): void {
  const { dtype, columns } = part;
  const to = y + firstPanel * PANEL_ROWS * 4;
  if (!isQuantized(dtype)) {
    inTiles(0, tiled ?? rows, rows, (first, some) => {
      const [from, place] = [x + first * columns * 4, to + first * yStride * 4];
      kernels[FLOAT_PRODUCTS[dtype]](panels, count, columns, from, some, place, yStride);
    });
    return;
  }
  const done = bytes?.rows ?? 0;
  bytes?.kernels.matmulQ8(panels, count, columns, bytes.q, bytes.scales, bytes.sums, done, to, yStride);
  inTiles(done, tiledRounded ?? rows, rows, (first, some) => {
    const [q, rowScales] = [rounded + first * columns * 2, scales + (first * columns) / 4];
    const place = to + first * yStride * 4;
    if (isPacked(dtype))
      kernels.matmulPacked(dtype, panels, count, columns, q, rowScales, some, place, yStride, scratch);
    else if (isLow(dtype))
      kernels.matmulLow(dtype, panels, count, columns, q, rowScales, some, place, yStride);
    else kernels[BLOCK_PRODUCTS[dtype]](panels, count, columns, q, rowScales, some, place, yStride);
  });
}

/** Rows from `first` up to `tiled` all at once, for kernels take four of them at a time; the others one by one. */
function inTiles(
  first: number,
  tiled: number,
  rows: number,
  multiply: (first: number, some: number) => void,
): void {
  if (tiled > first) multiply(first, tiled - first);
  // Kernels take fewer than four one by one.
  for (let row = Math.max(first, tiled); row < rows; row += 3) multiply(row, Math.min(3, rows - row));
}
