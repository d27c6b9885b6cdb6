import { SluiceError } from "../errors.ts";
import { MergeLoop } from "./merge-loop.ts";
import { findMerge } from "./merge-table.ts";
import { PRE_TOKENIZERS } from "./pre-tokenizers.ts";
import { findText } from "./token-texts.ts";
import type { TokenizerData } from "./tokenizer-data.ts";
import { alignUtf8 } from "./utf8.ts";
import { splitWords } from "./word-splitter.ts";

/**
 * Byte-level BPE: text is cut into words, and within each the pair of neighbouring symbols whose merge rule has the
 * lowest rank is joined until no rule applies. Appends the token ids of `input` to `ids`.
 *
 * @throws SluiceError `context-full` as soon as there are more than `most`
 */
export type TextEncoder = (input: Uint8Array, ids: number[], most?: number) => void;

export function tooMany(most: number): SluiceError {
  return new SluiceError("context-full", `the text has more than ${most} tokens`, {
    next: "Give a shorter text, or a larger context (-c).",
  });
}

export function createBpeEncoder(data: TokenizerData): TextEncoder {
  const { texts, index, merges, byteSymbols } = data;
  const { steps, ignoreMerges } = PRE_TOKENIZERS[data.preTokenizer!];
  const size = data.types.length;
  const loop = new MergeLoop();
  let symbols = new Int32Array(64);
  const rules = {
    rank: (left: number, right: number) => findMerge(merges, symbols[left], symbols[right]),
    join: (left: number, right: number) => {
      symbols[left] = merges.result[findMerge(merges, symbols[left], symbols[right])];
    },
  };

  function encodeWord(bytes: Uint8Array, from: number, to: number, ids: number[]): void {
    if (ignoreMerges) {
      const token = findText(texts, index, bytes, from, to);
      if (token >= 0) {
        ids.push(token);
        return;
      }
    }
    const count = to - from;
    if (count > symbols.length) symbols = new Int32Array(count * 2);
    for (let at = 0; at < count; at++) symbols[at] = byteSymbols[bytes[from + at]];
    loop.run(count, rules);
    for (let at = 0; at >= 0; at = loop.after(at)) pushSymbol(symbols[at], ids);
  }

  /** A symbol that is no token falls apart into its bytes; bytes that are no tokens are lost, as in llama.cpp. */
  function pushSymbol(symbol: number, ids: number[]): void {
    if (symbol < size) {
      ids.push(symbol);
      return;
    }
    for (let at = texts.offsets[symbol]; at < texts.offsets[symbol + 1]; at++) {
      const token = byteSymbols[texts.blob[at]];
      if (token < size) ids.push(token);
    }
  }

  return (input, ids, most = Infinity) => {
    const { bytes, text } = alignUtf8(input);
    let from = 0;
    for (const word of splitWords(text, steps)) {
      const to = from + utf8Length(word);
      encodeWord(bytes, from, to, ids);
      if (ids.length > most) throw tooMany(most);
      from = to;
    }
  };
}

/** Bytes of a well-formed string in UTF-8. */
function utf8Length(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) bytes += 1;
    // Each half of a surrogate pair accounts for two of its four bytes.
    else if (unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff)) bytes += 2;
    else bytes += 3;
  }
  return bytes;
}
