import { SluiceError } from "../errors.ts";

/**
 * The tokens that may still be chosen: the first `count` entries of two parallel arrays, which are allocated once.
 * "Before" means the higher logit, and the lower id where logits are equal.
 */
export class Candidates {
  readonly ids: Uint32Array; // (vocabulary)
  readonly logits: Float32Array; // (vocabulary)
  count = 0;

  constructor(vocabulary: number) {
    this.ids = new Uint32Array(vocabulary);
    this.logits = new Float32Array(vocabulary);
  }

  /**
   * Make every token a candidate; token i is entry i until entries are moved.
   *
   * @param logits (vocabulary); -Infinity rules a token out
   * @throws SluiceError `bad-model` where they are no distribution: NaN, +Infinity, or nothing but -Infinity
   */
  load(logits: Float32Array): void {
    this.logits.set(logits);
    this.count = logits.length;
    let possible = false;
    for (let id = 0; id < logits.length; id++) {
      this.ids[id] = id;
      if (!(logits[id] < Infinity)) throw brokenLogits(`the logit of token ${id} is ${logits[id]}`);
      if (logits[id] > -Infinity) possible = true;
    }
    if (!possible) throw brokenLogits(`all ${logits.length} logits are -Infinity`);
  }

  /** Entry that comes before all others. */
  first(): number {
    let best = 0;
    for (let entry = 1; entry < this.count; entry++) if (this.#before(entry, best)) best = entry;
    return best;
  }

  /**
   * Keep the leading entries, in order: as long as `more` says so, at least one. A heap finds them without
   * sorting the rest: n steps to build it and log n for each entry that is kept.
   *
   * @param more is asked after each entry that was kept, with its logit and how many there are now
   */
  keepLeading(more: (logit: number, kept: number) => boolean): void {
    const total = this.count;
    for (let entry = (total >>> 1) - 1; entry >= 0; entry--) this.#sink(entry, total);
    let kept = 0;
    while (kept < total) {
      const end = total - 1 - kept;
      this.#swap(0, end);
      this.#sink(0, end);
      kept++;
      if (!more(this.logits[end], kept)) break;
    }
    // They lie at the end of the arrays, the first one last.
    for (let entry = 0; entry < Math.min(kept, total >>> 1); entry++) this.#swap(entry, total - 1 - entry);
    this.count = kept;
  }

  /** Keep the entries whose logit is `least` or more, in the order they have. */
  keepAtLeast(least: number): void {
    let kept = 0;
    for (let entry = 0; entry < this.count; entry++) {
      if (this.logits[entry] >= least) this.#swap(kept++, entry);
    }
    this.count = kept;
  }

  #before(a: number, b: number): boolean {
    return (
      this.logits[a] > this.logits[b] || (this.logits[a] === this.logits[b] && this.ids[a] < this.ids[b])
    );
  }

  #swap(a: number, b: number): void {
    const { ids, logits } = this;
    const id = ids[a];
    const logit = logits[a];
    ids[a] = ids[b];
    logits[a] = logits[b];
    ids[b] = id;
    logits[b] = logit;
  }

  /** Move an entry down the heap of the first `total` entries to its place. */
  #sink(entry: number, total: number): void {
    for (;;) {
      let child = 2 * entry + 1;
      if (child >= total) return;
      if (child + 1 < total && this.#before(child + 1, child)) child++;
      if (!this.#before(child, entry)) return;
      this.#swap(entry, child);
      entry = child;
    }
  }
}

function brokenLogits(what: string): SluiceError {
  return new SluiceError("bad-model", `the model computed no usable probabilities: ${what}`, {
    next: "Check the unpacked model with `sluice cache verify`; if it is sound, the model file itself is damaged.",
  });
}
