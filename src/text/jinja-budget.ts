import type { RuntimeValue } from "./jinja-library.ts";

// Far above what real templates need (300 messages take some 100,000 steps, a million where loops are nested), and low enough that
// a hostile one is stopped within seconds and some hundred megabytes.
const MAX_STEPS = 3_000_000;
export const MAX_TEXT = 1 << 22;
const MAX_ITEMS = 1 << 18;
/** Each text that a text is cut into comes with a table of its methods. */
const PART_STEPS = 16;

/** How much a template may still do for one conversation. */
export class RenderBudget {
  #steps = MAX_STEPS;
  readonly #weights = new WeakMap<RuntimeValue, number>();

  /** Throws an Error when too many steps were taken. */
  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new Error("it does not come to an end");
  }

  /**
   * To be called before a text is gone through, or made: what takes long or much memory must not even begin.
   *
   * @param characters of the text
   * @param parts that it falls into, each a value of its own or a step
   */
  foresee(characters: number, parts = 0): void {
    if (characters > MAX_TEXT) throw new Error("its text grows too long");
    if (parts > MAX_ITEMS) throw new Error("its lists grow too large");
    this.spend((characters >> 4) + PART_STEPS * parts);
  }

  /** Take note of a value that was computed: large ones cost more, and none may be too large. */
  charge(value: RuntimeValue): void {
    const content = value?.value;
    if (typeof content === "string") {
      if (content.length > MAX_TEXT) throw new Error("its text grows too long");
      this.spend(content.length >> 7);
    } else if (Array.isArray(content) || content instanceof Map) {
      if (this.#weigh(value) > MAX_ITEMS) throw new Error("its lists grow too large");
      this.spend((Array.isArray(content) ? content.length : content.size) >> 1);
    }
  }

  /** Values that one prints as, all the way down: lists that hold each other twice double every time. */
  #weigh(value: RuntimeValue): number {
    const known = this.#weights.get(value);
    if (known !== undefined) return known;
    // Namespaces can hold themselves.
    this.#weights.set(value, 1);
    const content = value.value;
    let weight = 1;
    if (Array.isArray(content) || content instanceof Map) {
      for (const item of content.values() as Iterable<RuntimeValue>) weight += this.#weigh(item);
    }
    this.#weights.set(value, weight);
    return weight;
  }
}
