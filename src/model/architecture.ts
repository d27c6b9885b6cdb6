import type { MetadataReader } from "./metadata-reader.ts";
import type { Departures, LayerShape, RopeParameters, RopeStyle, TensorRole } from "./types.ts";

/** A tensor of a layer as an architecture wants it. */
export interface TensorSpec {
  readonly role: TensorRole;
  /** Names in the model file after `blk.N.`. Those of several are stored interleaved, all of the same shape. */
  readonly sources: readonly string[];
  readonly kind: "vector" | "matrix";
  /** Rows of each source. */
  readonly rows: number;
  readonly columns: number;
  /** Whether a layer may do without it. */
  readonly optional?: true;
}

/** What is known of a model before the architecture's own metadata is read. */
export interface Outline {
  readonly layers: number;
  readonly width: number;
  /** Of the first layer. */
  readonly heads: number;
  readonly headSize: number;
  readonly rope: RopeParameters;
  /** Whether the file has a tensor of this name. */
  readonly has: (name: string) => boolean;
}

/** What an architecture's own metadata say. */
export interface Description {
  readonly departures?: Departures;
  /** Whether q and k of a layer, counted from 0, are rotated; absent: in all. */
  readonly rope?: (layer: number) => boolean;
  /** Positions that a row of a layer attends to; absent: all. */
  readonly window?: (layer: number) => number | undefined;
}

/** What sets one architecture apart from another. */
export interface Architecture {
  /** As in `general.architecture`. */
  readonly name: string;
  readonly ropeStyle: RopeStyle;
  /** Whether only the first values of a head may be rotated. */
  readonly partialRope?: boolean;
  /** What it departs from Llama in. */
  readonly describe?: (reader: MetadataReader, outline: Outline) => Description;
  /**
   * The tensors of a layer in the order of use. The bias of a norm or a product, added to it, comes right behind its weight,
   * but those of gate and up come before; behind that the norm of q's or k's heads, or of what goes into the residual
   * stream.
   */
  readonly layerTensors: (layer: LayerShape, width: number, headSize: number) => readonly TensorSpec[];
  /** Whether the last norm has a bias. */
  readonly outputBias?: boolean;
}
