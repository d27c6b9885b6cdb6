import type { Engine } from "../engine.ts";
import type { Draft, DraftContext } from "./types.ts";

/**
 * Guesses what the model itself would say with its weights in fewer bits (arXiv 2509.18344). It reads the keys and values of
 * the model, and puts its own behind them, where the sweep that verifies the guess overwrites them.
 */
export class ShadowDraft implements Draft {
  readonly name = "shadow";
  readonly #engine: Engine;
  readonly #logits: readonly Float32Array[];
  #tokens: readonly number[] = [];

  /** @param engine with a shadow; until that is loaded there are no guesses */
  constructor(engine: Engine, vocabulary: number) {
    this.#engine = engine;
    this.#logits = [new Float32Array(vocabulary)];
  }

  look(tokens: readonly number[]): string | undefined {
    this.#tokens = tokens;
    return this.#engine.shadow?.loaded ? "" : undefined;
  }

  async propose(most: number, { sequence, sampler, signal }: DraftContext): Promise<readonly number[]> {
    const text = [...this.#tokens];
    while (text.length < this.#tokens.length + most) {
      const position = text.length - 1;
      const token = text[position];
      await this.#engine.guess([{ sequence, position, token, logits: true }], {
        signal,
        logits: this.#logits,
      });
      text.push(sampler.sample(this.#logits[0], text));
    }
    return text.slice(this.#tokens.length);
  }
}
