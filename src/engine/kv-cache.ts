import { SluiceError } from "../errors.ts";
import { headBytes } from "../kernels/kv-layout.ts";
import type { Address, AttentionShape, KvType } from "../kernels/types.ts";
import type { Hyperparameters } from "../model/types.ts";
import type { Arena } from "./arena.ts";

/** Positions in a block: the step in which a KV cache grows. */
export const BLOCK_POSITIONS = 64;

/** Bytes of keys and values of one layer in a block. */
function layerBytes(model: Hyperparameters, layer: number, type: KvType): number {
  return 2 * model.layers[layer].kvHeads * headBytes(type, model.headSize, BLOCK_POSITIONS);
}

/** Bytes of a block: 64 positions of every layer. */
export function kvBlockBytes(model: Hyperparameters, type: KvType): number {
  return model.layers.reduce((sum, _, layer) => sum + layerBytes(model, layer, type), 0);
}

/** Of each layer. */
export function attentionShapes(model: Hyperparameters, kvType: KvType): AttentionShape[] {
  let layerOffset = 0;
  return model.layers.map(({ heads, kvHeads }, layer) => {
    const shape = {
      heads,
      kvHeads,
      headSize: model.headSize,
      kvType,
      blockPositions: BLOCK_POSITIONS,
      layerOffset,
    };
    layerOffset += layerBytes(model, layer, kvType);
    return shape;
  });
}

/** Blocks of KV cache for all sequences of an engine; those given back are used again. */
export class KvPool {
  readonly #arena: Arena;
  readonly #blockBytes: number;
  readonly #free: Address[] = [];

  constructor(arena: Arena, model: Hyperparameters, type: KvType) {
    this.#arena = arena;
    this.#blockBytes = kvBlockBytes(model, type);
  }

  createSequence(contextLength: number): Sequence {
    const capacity = Math.ceil(contextLength / BLOCK_POSITIONS);
    return new Sequence(this, this.#arena, this.#arena.allocate(capacity * 4), this.#blockBytes);
  }

  take(): Address {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    try {
      return this.#arena.allocate(this.#blockBytes);
    } catch (cause) {
      throw new SluiceError("context-full", "the KV cache cannot grow any further", {
        next: "Start a new conversation, or use a shorter context (-c).",
        cause,
      });
    }
  }

  give(block: Address): void {
    this.#free.push(block);
  }
}

/** Keys and values of one sequence of tokens: grows in blocks as it is used, and can be cut back. */
export class Sequence {
  /** Address of the table (uint32) of block addresses, for the kernels. */
  readonly table: Address;
  readonly #pool: KvPool;
  readonly #arena: Arena;
  readonly #blockBytes: number;
  readonly #blocks: Address[] = [];

  constructor(pool: KvPool, arena: Arena, table: Address, blockBytes: number) {
    this.#pool = pool;
    this.#arena = arena;
    this.table = table;
    this.#blockBytes = blockBytes;
  }

  /** Make room for positions 0 … length - 1. */
  reserve(length: number): void {
    while (this.#blocks.length * BLOCK_POSITIONS < length) {
      const block = this.#pool.take();
      this.#arena.words(this.table, this.#blocks.length + 1)[this.#blocks.length] = block;
      this.#blocks.push(block);
    }
  }

  /** Keep only positions 0 … length - 1; blocks that are not needed go back to the pool. */
  truncate(length: number): void {
    while ((this.#blocks.length - 1) * BLOCK_POSITIONS >= length) this.#pool.give(this.#blocks.pop()!);
  }

  /** Bytes of its blocks. */
  get bytes(): number {
    return this.#blocks.length * this.#blockBytes;
  }
}
