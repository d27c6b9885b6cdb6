import type { LayerShape, RopeStyle, TensorRole } from "./types.ts";

/** A tensor of a layer as an architecture wants it. */
export interface TensorSpec {
  readonly role: TensorRole;
  /** Names in the model file after `blk.N.`. Those of several are stored interleaved, all of the same shape. */
  readonly sources: readonly string[];
  readonly kind: "vector" | "matrix";
  /** Rows of each source. */
  readonly rows: number;
  readonly columns: number;
}

/** What sets one architecture apart from another. */
export interface Architecture {
  /** As in `general.architecture`. */
  readonly name: string;
  /** Whether q and k of a layer, counted from 0, are rotated. */
  readonly rope: (layer: number) => boolean;
  readonly ropeStyle: RopeStyle;
  /**
   * The tensors of a layer in the order of use. The bias of a product, (rows) added to it, comes right behind the matrix;
   * behind that the norm of its heads, (head size).
   */
  readonly layerTensors: (layer: LayerShape, width: number, headSize: number) => readonly TensorSpec[];
}
