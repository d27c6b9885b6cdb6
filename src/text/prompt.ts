import type { Tokenizer } from "./types.ts";
import { decodeUtf8 } from "./utf8.ts";

/**
 * Token ids of a rendered chat template: special tokens in the text are recognised, and there is exactly one BOS
 * where the model wants one, whether the template prints it or not (as in llama.cpp).
 */
export function encodePrompt(tokenizer: Tokenizer, rendered: string): number[] {
  const ids = tokenizer.encode(rendered, { special: true });
  const { addBos, bos } = tokenizer;
  return addBos && bos !== undefined && ids[0] !== bos ? [bos, ...ids] : ids;
}

/** The texts that templates know as `bos_token` and `eos_token`. */
export function tokenTexts(tokenizer: Tokenizer): { bosToken: string; eosToken: string } {
  const text = (id: number | undefined): string => {
    return id === undefined ? "" : decodeUtf8(tokenizer.bytes(id, true));
  };
  return { bosToken: text(tokenizer.bos), eosToken: text(tokenizer.eos) };
}
