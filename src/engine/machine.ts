import type { Address, AttentionShape, Int8Kernels, Kernels } from "../kernels/types.ts";
import type { Hyperparameters, TensorRole } from "../model/types.ts";
import type { TensorDtype } from "../store/types.ts";
import type { Buffers } from "./buffers.ts";
import type { KvWindow } from "./kv-window.ts";
import type { Team } from "./team.ts";
import type { Tiles } from "./tiles.ts";
import type { Weights } from "./weights.ts";

/** What a thread computes with. */
export interface Machine {
  readonly model: Hyperparameters;
  readonly buffers: Buffers;
  readonly kernels: Kernels;
  /** Where the machine has them. */
  readonly int8: Int8Kernels | undefined;
  /** Of each layer. */
  readonly shapes: readonly AttentionShape[];
  /** Where keys and values of some layers do not stay in memory. */
  readonly kvWindow: KvWindow | undefined;
  readonly weights: Weights;
  /** What the weights of each layer are made of, last those of the output. */
  readonly dtypes: readonly ReadonlyMap<TensorRole, TensorDtype>[];
  readonly team: Team;
  /** How the rows of this sweep are computed. */
  readonly tiles: Tiles;
  /** Whether there are packed weights: of these a row alone gives other sums than one in a tile. */
  readonly packed: boolean;
  /** The engine's memory as uint32, for the tables in it. */
  readonly words: Uint32Array;
  /** Do something that is no arithmetic, but waits for the disk. */
  readonly waiting: (action: () => void) => void;
  /** Called when a part of a layer (or, last, the output) is done. */
  readonly partDone: (part: "attention" | "feed-forward" | "output", stage: number) => void;
}

/** Address of a row of float32 values. */
export function at(address: Address, row: number, stride: number): Address {
  return address + row * stride * 4;
}
