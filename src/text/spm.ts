import type { TextEncoder } from "./bpe.ts";
import { MergeLoop } from "./merge-loop.ts";
import { findText } from "./token-texts.ts";
import type { TokenizerData } from "./tokenizer-data.ts";

/** U+2581, which stands for a space in SentencePiece's texts. */
export const SPACE_MARK = Uint8Array.of(0xe2, 0x96, 0x81);

/**
 * SentencePiece's bigram model as in llama.cpp: of all neighbouring pieces whose concatenation is a token, the one
 * with the best score is joined until there is none. Characters that end up in no token become their bytes.
 */
export function createSpmEncoder(data: TokenizerData): TextEncoder {
  const { texts, index, ranks, byteSymbols } = data;
  const loop = new MergeLoop();
  let bytes: Uint8Array = new Uint8Array(0);
  // Piece `at` covers bytes starts[at] … ends[at].
  let starts = new Uint32Array(0);
  let ends = new Uint32Array(0);
  const rules = {
    rank: (left: number, right: number) => {
      const token = findText(texts, index, bytes, starts[left], ends[right]);
      return token < 0 ? -1 : ranks[token];
    },
    join: (left: number, right: number) => {
      ends[left] = ends[right];
    },
  };

  return (input, ids) => {
    bytes = markSpaces(input);
    if (bytes.length > starts.length) {
      starts = new Uint32Array(bytes.length * 2);
      ends = new Uint32Array(bytes.length * 2);
    }
    let count = 0;
    for (let at = 0; at < bytes.length; at = ends[count++]) {
      starts[count] = at;
      ends[count] = Math.min(bytes.length, at + leadLength(bytes[at]));
    }
    loop.run(count, rules);
    for (let at = count === 0 ? -1 : 0; at >= 0; at = loop.after(at)) {
      const token = findText(texts, index, bytes, starts[at], ends[at]);
      if (token >= 0) ids.push(token);
      else
        for (const byte of bytes.subarray(starts[at], ends[at]))
          if (byteSymbols[byte] >= 0) ids.push(byteSymbols[byte]);
    }
  };
}

/** Bytes that a character should have by its first byte; whether they are there is not looked at. */
function leadLength(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

function markSpaces(input: Uint8Array): Uint8Array {
  let spaces = 0;
  for (const byte of input) if (byte === 0x20) spaces++;
  const marked = new Uint8Array(input.length + 2 * spaces);
  let to = 0;
  for (const byte of input) {
    if (byte === 0x20) {
      marked.set(SPACE_MARK, to);
      to += 3;
    } else {
      marked[to++] = byte;
    }
  }
  return marked;
}

/** The opposite of the above, for printing a token. */
export function unmarkSpaces(text: Uint8Array): Uint8Array {
  if (!text.includes(SPACE_MARK[0])) return text;
  return Buffer.from(Buffer.from(text).toString("latin1").replaceAll("\xe2\x96\x81", " "), "latin1");
}
