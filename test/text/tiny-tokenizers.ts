import { buildTokenizerData } from "../../src/text/build-tokenizer-data.ts";
import { createTokenizer } from "../../src/text/tokenizer.ts";
import { decodeTokenizerData, encodeTokenizerData } from "../../src/text/tokenizer-data.ts";
import type { Tokenizer } from "../../src/text/types.ts";
import { fakeGguf } from "./fake-gguf.ts";

type Metadata = Parameters<typeof fakeGguf>[0];

/** A tokenizer of this metadata that went through its file form. */
export function tokenizerOf(metadata: Metadata): Tokenizer {
  return createTokenizer(decodeTokenizerData(encodeTokenizerData(buildTokenizerData(fakeGguf(metadata)))));
}

/** The 256 characters of the byte-level alphabet in the order of their bytes. */
export const ALPHABET = byteLevelAlphabet();

function byteLevelAlphabet(): string[] {
  const printable = (byte: number): boolean => {
    return (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  };
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
}

/** 256 bytes, then 256 "he", 257 "ll", 258 "hell", 259 "hello", 260 <|im_end|>, 261 <think>, 262 "Ġhello". */
export const BPE: Metadata = {
  "tokenizer.ggml.model": "gpt2",
  "tokenizer.ggml.pre": "smaug-bpe",
  "tokenizer.ggml.tokens": [...ALPHABET, ...["he", "ll", "hell", "hello", "<|im_end|>", "<think>", "Ġhello"]],
  "tokenizer.ggml.token_type": Int32Array.from([...Array(260).fill(1), 3, 4, 1]),
  "tokenizer.ggml.merges": ["h e", "l l", "he ll", "hell o"],
  "tokenizer.ggml.eos_token_id": 260,
};

const SPM_NORMAL = ["▁", "a", "b", "ab", "▁ab", "▁▁", "c"];

/** 0 <unk>, 1 <s>, 2 </s>, 3 … 258 the bytes, then the pieces above (259 is a space), 266 the user-defined <x>. */
export const SPM: Metadata = {
  "tokenizer.ggml.model": "llama",
  "tokenizer.ggml.tokens": [
    ...["<unk>", "<s>", "</s>"],
    ...Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`),
    ...SPM_NORMAL,
    "<x>",
  ],
  "tokenizer.ggml.token_type": Int32Array.from([2, 3, 3, ...Array(256).fill(6), ...Array(7).fill(1), 4]),
  "tokenizer.ggml.scores": Float32Array.from([...Array(259).fill(0), -3, -4, -5, -1, -2, -6, -7, 0]),
};
