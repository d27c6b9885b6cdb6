import type { Address } from "../kernels/types.ts";
import type { Arena } from "./arena.ts";
import { BLOCK_POSITIONS, type KvBlock } from "./kv-block.ts";
import type { KvPool } from "./kv-cache.ts";

/** Keys and values of one sequence of tokens: grows in blocks as it is used, and can be cut back. */
export class Sequence {
  /** Address of the table (uint32) of block addresses, for the kernels. */
  readonly table: Address;
  readonly #pool: KvPool;
  readonly #arena: Arena;
  /** That a block takes in memory. */
  readonly #blockBytes: number;
  readonly #blocks: Address[] = [];
  readonly #stamps: number[] = [];

  constructor(pool: KvPool, arena: Arena, table: Address, blockBytes: number) {
    this.#pool = pool;
    this.#arena = arena;
    this.table = table;
    this.#blockBytes = blockBytes;
  }

  /** Find out whether positions 0 … length - 1 will have room. @throws SluiceError `context-full` */
  checkRoom(length: number): void {
    this.#pool.checkRoom(Math.ceil(length / BLOCK_POSITIONS) - this.#blocks.length);
  }

  /** Make room for positions 0 … length - 1. */
  reserve(length: number): void {
    while (this.#blocks.length * BLOCK_POSITIONS < length)
      this.#put(this.#blocks.length, this.#pool.take(), this.#pool.stamp());
  }

  /**
   * Begin as another sequence does: its positions 0 … length - 1, which it must hold. Whole blocks are shared with it, what
   * is left over is copied. This sequence must be empty.
   *
   * @throws SluiceError `context-full`; the sequence is shorter then
   */
  beginAs(other: Sequence, length: number): void {
    const whole = Math.floor(length / BLOCK_POSITIONS);
    for (let index = 0; index < whole; index++) {
      const block = other.#blocks[index];
      this.#pool.share(block);
      this.#put(index, block, other.#stamps[index]);
    }
    if (length > whole * BLOCK_POSITIONS) this.#putCopy(whole, other.#blocks[whole]);
  }

  /** Keep only positions 0 … length - 1; blocks that are not needed go back to the pool. */
  truncate(length: number): void {
    while ((this.#blocks.length - 1) * BLOCK_POSITIONS >= length) {
      this.#pool.give(this.#blocks.pop()!);
      this.#stamps.pop();
    }
    if (length % BLOCK_POSITIONS === 0) return;
    // The rest of a block that was cut will be written anew.
    const last = this.#blocks.length - 1;
    const block = this.#blocks[last];
    if (this.#pool.isShared(block)) {
      this.#putCopy(last, block);
      this.#pool.give(block);
    } else this.#stamps[last] = this.#pool.stamp();
  }

  #put(index: number, block: Address, stamp: number): void {
    this.#arena.words(this.table, index + 1)[index] = block;
    this.#blocks[index] = block;
    this.#stamps[index] = stamp;
  }

  #putCopy(index: number, from: Address): void {
    const block = this.#pool.take();
    this.#pool.setBytes(block, this.#pool.bytesOf(from));
    this.#put(index, block, this.#pool.stamp());
  }

  /** Its blocks in order; the last one may hold zeros or leftovers behind the positions in use. */
  get blocks(): readonly KvBlock[] {
    const pool = this.#pool;
    return this.#blocks.map((block, index) => {
      return {
        stamp: this.#stamps[index],
        get bytes() {
          return pool.bytesOf(block);
        },
      };
    });
  }

  /** Address of the block of a position. */
  blockAt(position: number): Address {
    return this.#blocks[Math.floor(position / BLOCK_POSITIONS)];
  }

  /** Addresses of its blocks. */
  get addresses(): readonly Address[] {
    return this.#blocks;
  }

  /**
   * Give some blocks their bytes.
   *
   * @param write gets memory to write into, of each; what it throws is passed on
   */
  async fill<Result>(
    first: number,
    count: number,
    write: (targets: readonly Uint8Array[]) => Result | Promise<Result>,
  ): Promise<Result> {
    const blocks = this.#blocks.slice(first, first + count);
    const targets = blocks.map((block) => this.#pool.bytesOf(block));
    const result = await write(targets);
    if (!this.#pool.inMemory)
      for (const [index, block] of blocks.entries()) this.#pool.setBytes(block, targets[index]);
    return result;
  }

  /** How many positions its blocks hold. */
  get capacity(): number {
    return this.#blocks.length * BLOCK_POSITIONS;
  }

  /** Bytes that its blocks take in memory. */
  get bytes(): number {
    return this.#blocks.length * this.#blockBytes;
  }
}
