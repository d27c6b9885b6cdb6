import { describe, expect, test } from "vitest";
import { openGguf } from "../../src/gguf/open.ts";
import { buildTokenizerData } from "../../src/text/build-tokenizer-data.ts";
import { createTokenizer } from "../../src/text/tokenizer.ts";
import type { Tokenizer } from "../../src/text/types.ts";
import { fakeGguf } from "./fake-gguf.ts";
import { BPE, SPM, tokenizerOf } from "./tiny-tokenizers.ts";

const text = (tokenizer: Tokenizer, ids: number[], special = false): string => tokenizer.decode(ids, special);

describe("byte-level BPE", () => {
  const tokenizer = tokenizerOf(BPE);

  test("merges by rank, within words", () => {
    expect(tokenizer.encode("hello hello")).toEqual([259, 0x20, 259]);
    expect(tokenizer.encode("hel")).toEqual([256, 0x6c]);
    expect(tokenizer.encode("lll")).toEqual([257, 0x6c]);
    expect(tokenizer.encode("")).toEqual([]);
  });

  test("takes a whole word from the vocabulary only where the pre-tokenizer says so", () => {
    expect(tokenizer.encode(" hello")).toEqual([0x20, 259]);
    const llama = tokenizerOf({ ...BPE, "tokenizer.ggml.pre": "llama-bpe" });
    expect(llama.encode(" hello")).toEqual([262]);
  });

  test("makes control tokens on request only, user-defined ones always", () => {
    expect(tokenizer.encode("<|im_end|>", { special: true })).toEqual([260]);
    expect(tokenizer.encode("<|im_end|>")).toEqual([...Buffer.from("<|im_end|>")]);
    expect(tokenizer.encode("a<think>b")).toEqual([0x61, 261, 0x62]);
  });

  test("prints control tokens on request only", () => {
    expect(text(tokenizer, [259, 260, 261])).toBe("hello<think>");
    expect(text(tokenizer, [259, 260, 261], true)).toBe("hello<|im_end|><think>");
  });

  test("never indexes with an id that is none", () => {
    for (const id of [-1, 263, 2 ** 32 - 1, 0.5, Number.NaN])
      expect(tokenizer.bytes(id, true)).toHaveLength(0);
    const odd = tokenizerOf({
      ...BPE,
      "tokenizer.ggml.eos_token_id": 2 ** 32 - 1,
      "tokenizer.ggml.bos_token_id": 999,
    });
    expect([odd.bos, odd.eos]).toEqual([undefined, undefined]);
    // Its text tells that it ends an answer.
    expect([...odd.endOfGeneration]).toEqual([260]);
  });

  test("adds BOS and EOS as the file says, else as the pre-tokenizer does", () => {
    const withIds = { ...BPE, "tokenizer.ggml.bos_token_id": 5 };
    const ids = (more: object): number[] => tokenizerOf({ ...withIds, ...more }).encode("h", { bos: true });
    expect(ids({})).toEqual([0x68]);
    expect(ids({ "tokenizer.ggml.pre": "llama3" })).toEqual([5, 0x68]);
    expect(ids({ "tokenizer.ggml.pre": "llama3", "tokenizer.ggml.add_bos_token": false })).toEqual([0x68]);
    const both = { "tokenizer.ggml.add_bos_token": true, "tokenizer.ggml.add_eos_token": true };
    expect(ids(both)).toEqual([5, 0x68, 260]);
  });

  test("survives merges whose parts are no tokens", () => {
    const merges = ["x y", "z x", "xy z", "no-space", "", " ", "Ω ω", "h e"];
    const odd = tokenizerOf({ ...BPE, "tokenizer.ggml.merges": merges });
    expect(odd.encode("xyz")).toEqual([..."xyz"].map((c) => c.charCodeAt(0)));
    expect(odd.encode("he")).toEqual([256]);
  });

  test("plain text never becomes a control token, even by merges", () => {
    const type = Int32Array.from([...Array(259).fill(1), 3, 3, 4, 1]);
    const odd = tokenizerOf({ ...BPE, "tokenizer.ggml.token_type": type, "tokenizer.ggml.pre": "llama3" });
    expect(odd.encode("hello")).toEqual([...Buffer.from("hello")]);
    expect(odd.encode("hello", { special: true })).toEqual([259]);
  });

  test("replaces broken UTF-8 as llama.cpp does", () => {
    const bytes = (...input: number[]): string => {
      return Buffer.from(tokenizer.encode(Uint8Array.from(input))).toString("hex");
    };
    expect(bytes(0xff)).toBe("efbfbd");
    expect(bytes(0x61, 0xc3, 0x62)).toBe("61efbfbd62");
    expect(bytes(0xf0, 0x9f, 0x91)).toBe("efbfbdefbfbdefbfbd");
    expect(bytes(0xc0, 0xaf)).toBe("2f");
    expect(bytes(0xed, 0xa0, 0x80, 0x61)).toBe("eda08061");
    expect(bytes(0xf7, 0xbf, 0xbf, 0xbf)).toBe("efbfbd");
  });

  test("gives back every text that it is given", () => {
    let seed = 1;
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
      return (seed >> 8) % below;
    };
    for (let round = 0; round < 300; round++) {
      const limit = [0x80, 0x800, 0xd800, 0x10ffff][round % 4];
      const points = Array.from({ length: random(40) }, () => random(limit));
      const original = String.fromCodePoint(...points.filter((point) => point < 0xd800 || point > 0xdfff));
      expect(text(tokenizer, tokenizer.encode(original))).toBe(original);
    }
  });

  test("takes long runs in its stride", () => {
    const start = performance.now();
    for (const run of ["l", " ", "\n", "hello", "?"]) {
      expect(text(tokenizer, tokenizer.encode(run.repeat(100_000)))).toHaveLength(run.length * 100_000);
    }
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

describe("SentencePiece", () => {
  const tokenizer = tokenizerOf(SPM);

  test("joins by score, with a space before the text", () => {
    expect(tokenizer.encode("ab")).toEqual([263]);
    expect(tokenizer.encode("a ab")).toEqual([259, 260, 263]);
    expect(text(tokenizer, tokenizer.encode("a ab"))).toBe(" a ab");
  });

  test("has BOS by default and puts a space after special tokens only", () => {
    expect(tokenizer.encode("c", { bos: true })).toEqual([1, 259, 265]);
    expect(tokenizer.encode("c</s>c", { special: true })).toEqual([259, 265, 2, 259, 265]);
    const bare = tokenizerOf({ ...SPM, "tokenizer.ggml.add_space_prefix": false });
    expect(bare.encode("c<x>c")).toEqual([265, 266, 265]);
  });

  test("falls back to bytes, which may be any", () => {
    const bare = tokenizerOf({ ...SPM, "tokenizer.ggml.add_space_prefix": false });
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => 255 - i);
    const back = Buffer.concat(bare.encode(bytes).map((id) => bare.bytes(id)));
    expect(back.equals(bytes)).toBe(true);
  });

  test("without scores, joins from the left", () => {
    const { "tokenizer.ggml.scores": _, ...rest } = SPM;
    const noPrefix = { "tokenizer.ggml.add_space_prefix": false };
    expect(tokenizerOf({ ...SPM, ...noPrefix }).encode("  ab")).toEqual([259, 263]);
    expect(tokenizerOf({ ...rest, ...noPrefix }).encode("  ab")).toEqual([264, 262]);
  });
});

describe("what is refused", () => {
  const build = (more: object) => () => buildTokenizerData(fakeGguf({ ...BPE, ...more }));
  const without = (key: string) => () => {
    buildTokenizerData(fakeGguf(Object.fromEntries(Object.entries(BPE).filter(([name]) => name !== key))));
  };

  test("unknown tokenizers, by name", () => {
    for (const [model, kind] of [
      ["bert", "WordPiece"],
      ["t5", "SentencePiece unigrams"],
      ["rwkv", "the trie of RWKV"],
      ["plamo2", "the table of PLaMo 2"],
      ["gemma4", "BPE without a byte-level alphabet"],
      ["none", "no vocabulary"],
    ]) {
      expect(build({ "tokenizer.ggml.model": model })).toThrow(`tokenizer "${model}" (${kind}`);
    }
    expect(build({ "tokenizer.ggml.model": "toString" })).toThrow('tokenizer "toString" is not supported');
    for (const name of ["superbpe", "tiny_aya", "toString", "new-model"]) {
      expect(build({ "tokenizer.ggml.pre": name })).toThrow(`pre-tokenizer "${name}" is not supported`);
    }
    expect(without("tokenizer.ggml.pre")).toThrow(/no tokenizer\.ggml\.pre/);
    expect(without("tokenizer.ggml.model")).toThrow(/no tokenizer/);
  });

  test("tables that make no sense", () => {
    expect(without("tokenizer.ggml.merges")).toThrow(/no merges/);
    expect(without("tokenizer.ggml.tokens")).toThrow(/no tokenizer\.ggml\.tokens/);
    expect(build({ "tokenizer.ggml.tokens": [] })).toThrow(/empty vocabulary/);
    expect(build({ "tokenizer.ggml.tokens": ["a", "b", "a"] })).toThrow(/text of token 2 twice/);
    expect(build({ "tokenizer.ggml.token_type": new Int32Array(3) })).toThrow(/3 of .*for 263 tokens/);
    expect(build({ "tokenizer.ggml.tokens": 3 })).toThrow(/no array of strings/);
  });
});

test("the bundled model", () => {
  const tokenizer = createTokenizer(buildTokenizerData(openGguf("models/tiny-chat-q8_0.gguf")));
  expect(tokenizer.size).toBe(1024);
  expect(tokenizer.encode("Hello world")).toEqual([583, 413, 464]);
  expect(tokenizer.encode("Hello,\n\nworld!\n")).toEqual([583, 44, 10, 10, 119, 290, 464, 33, 10]);
  expect(tokenizer.encode("3.14159")).toEqual([51, 46, 49, 52, 49, 53, 57]);
  const turn = "<|im_start|>user\nWhat is the capital of Japan?<|im_end|>\n<|im_start|>assistant\n";
  const ids = [1022, 266, 10, 287, 267, 279, 313, 283, 979, 63, 1023, 10, 1022, 265, 10];
  expect(tokenizer.encode(turn, { special: true, bos: true })).toEqual(ids);
  expect([...tokenizer.endOfGeneration]).toContain(1023);
});
