/** How pairs of neighbouring pieces are joined. Pieces are named by their first position. */
export interface PairRules {
  /** Rank of joining two neighbours (lower first), or -1 where they do not join. */
  rank(left: number, right: number): number;
  /** `left` now also covers `right`. */
  join(left: number, right: number): void;
}

const GONE = -2;
const END = -1;
/** A heap key is rank * 2^31 + position: exact in a double for ranks below 2^22. */
const POSITIONS = 2 ** 31;

/**
 * Joins neighbouring pieces, lowest rank first and leftmost among equals, until no rule applies: the loop at the
 * heart of BPE and of SentencePiece's bigram model. O(n log n) for n pieces. Keeps its buffers between calls.
 */
export class MergeLoop {
  #next = new Int32Array(64);
  #previous = new Int32Array(64);
  #heap = new Float64Array(192);
  #size = 0;

  /** Run over pieces 0 … count-1. Afterwards walk from piece 0 with `after`. */
  run(count: number, rules: PairRules): void {
    this.#start(count);
    for (let at = 0; at + 1 < count; at++) this.#offer(at, at + 1, rules);
    while (this.#size > 0) {
      const key = this.#pop();
      const left = key % POSITIONS;
      const right = this.#next[left];
      // The key may be out of date; if the pair that is there now has the same rank, its turn is now all the same.
      if (right < 0 || rules.rank(left, right) !== Math.floor(key / POSITIONS)) continue;
      rules.join(left, right);
      const after = this.#next[right];
      this.#next[left] = after;
      this.#next[right] = GONE;
      if (after !== END) {
        this.#previous[after] = left;
        this.#offer(left, after, rules);
      }
      if (this.#previous[left] !== END) this.#offer(this.#previous[left], left, rules);
    }
  }

  /** The piece that follows, or -1. */
  after(piece: number): number {
    return this.#next[piece];
  }

  #start(count: number): void {
    if (count > this.#next.length) {
      this.#next = new Int32Array(count * 2);
      this.#previous = new Int32Array(count * 2);
      // Every pair once, and at most two new pairs for each of the joins.
      this.#heap = new Float64Array(count * 6);
    }
    for (let at = 0; at < count; at++) {
      this.#next[at] = at + 1 < count ? at + 1 : END;
      this.#previous[at] = at - 1;
    }
    this.#size = 0;
  }

  #offer(left: number, right: number, rules: PairRules): void {
    const rank = rules.rank(left, right);
    if (rank < 0) return;
    const key = rank * POSITIONS + left;
    const heap = this.#heap;
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent] <= key) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = key;
  }

  #pop(): number {
    const heap = this.#heap;
    const top = heap[0];
    const key = heap[--this.#size];
    let at = 0;
    for (let child = 1; child < this.#size; child = 2 * at + 1) {
      if (child + 1 < this.#size && heap[child + 1] < heap[child]) child++;
      if (heap[child] >= key) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = key;
    return top;
  }
}
