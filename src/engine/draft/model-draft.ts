import type { Engine } from "../engine.ts";
import type { Sequence } from "../kv-sequence.ts";
import type { Row } from "../row-filler.ts";
import { commonPrefix } from "../session.ts";
import type { Draft, DraftContext } from "./types.ts";

/** Guesses what another, smaller model with the same vocabulary would say: by the choices that the answer would make. */
export class ModelDraft implements Draft {
  readonly name = "model";
  readonly #engine: Engine;
  readonly #sequence: Sequence;
  readonly #logits: Float32Array;
  readonly #contextLength: number;
  /** Tokens that are in its KV cache. */
  #computed: number[] = [];
  #text: readonly number[] = [];

  /**
   * @param vocabulary tokens of the model that it guesses for
   * @param contextLength tokens of a text that it can read; of longer ones it has no idea
   */
  constructor(engine: Engine, vocabulary: number, contextLength: number) {
    this.#engine = engine;
    this.#sequence = engine.createSequence(contextLength);
    // Where it has fewer tokens, it never says the others.
    this.#logits = new Float32Array(vocabulary).fill(Number.NEGATIVE_INFINITY);
    this.#contextLength = contextLength;
  }

  look(tokens: readonly number[]): string | undefined {
    this.#text = tokens;
    return tokens.length > this.#contextLength ? undefined : "";
  }

  async propose(most: number, { sampler, signal }: DraftContext): Promise<readonly number[]> {
    const same = commonPrefix(this.#computed, this.#text);
    // Its last token is computed again where all of them are there: it is what the guess begins with.
    this.#keep(Math.min(same, this.#text.length - 1));
    await this.#compute(this.#text.slice(this.#computed.length), signal);
    const text = [...this.#text];
    for (;;) {
      text.push(sampler.sample(this.#logits, text));
      const guess = text.slice(this.#text.length);
      if (guess.length === most || this.#computed.length === this.#contextLength) return guess;
      await this.#compute(guess.slice(-1), signal);
    }
  }

  async #compute(tokens: readonly number[], signal: AbortSignal | undefined): Promise<void> {
    for (let done = 0; done < tokens.length; ) {
      const some = tokens.slice(done, done + this.#engine.maximumRows);
      done += some.length;
      const rows = some.map((token, index): Row => {
        const position = this.#computed.length + index;
        const logits = done === tokens.length && index === some.length - 1;
        return { sequence: this.#sequence, position, token, logits };
      });
      await this.#engine.sweep(rows, { signal, logits: [this.#logits] });
      this.#computed.push(...some);
    }
  }

  #keep(length: number): void {
    this.#computed.length = length;
    this.#sequence.truncate(length);
  }
}
