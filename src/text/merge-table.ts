import { tableSize } from "./token-texts.ts";

/** Merge rules in the order of their rank: `left[r]` and `right[r]` become `result[r]`. */
export interface Merges {
  readonly left: Int32Array;
  readonly right: Int32Array;
  readonly result: Int32Array;
  /** Hash table from the pair to the rank; -1 in empty slots; a power of two of them. */
  readonly table: Int32Array;
}

function firstSlot(table: Int32Array, left: number, right: number): number {
  const mixed = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
  return (mixed ^ (mixed >>> 16)) & (table.length - 1);
}

/** Collects merge rules; a pair that comes again keeps its first rank. */
export class MergesBuilder {
  readonly #left: Int32Array;
  readonly #right: Int32Array;
  readonly #result: Int32Array;
  readonly #table: Int32Array;
  #count = 0;

  /** @param capacity the most rules that will be added. */
  constructor(capacity: number) {
    this.#left = new Int32Array(capacity);
    this.#right = new Int32Array(capacity);
    this.#result = new Int32Array(capacity);
    this.#table = new Int32Array(tableSize(capacity)).fill(-1);
  }

  add(left: number, right: number, result: number): void {
    let slot = firstSlot(this.#table, left, right);
    for (; this.#table[slot] !== -1; slot = (slot + 1) & (this.#table.length - 1)) {
      const rank = this.#table[slot];
      if (this.#left[rank] === left && this.#right[rank] === right) return;
    }
    this.#left[this.#count] = left;
    this.#right[this.#count] = right;
    this.#result[this.#count] = result;
    this.#table[slot] = this.#count++;
  }

  finish(): Merges {
    return {
      left: this.#left.slice(0, this.#count),
      right: this.#right.slice(0, this.#count),
      result: this.#result.slice(0, this.#count),
      table: this.#table,
    };
  }
}

/** Rank of the rule that joins two symbols, or -1. Lower ranks go first. */
export function findMerge(merges: Merges, left: number, right: number): number {
  const { table } = merges;
  for (let slot = firstSlot(table, left, right); ; slot = (slot + 1) & (table.length - 1)) {
    const rank = table[slot];
    if (rank === -1 || (merges.left[rank] === left && merges.right[rank] === right)) return rank;
  }
}
