import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openGguf } from "../../src/gguf/open.ts";
import { buildTokenizerData } from "../../src/text/build-tokenizer-data.ts";
import { createTokenizer } from "../../src/text/tokenizer.ts";
import { decodeTokenizerData, encodeTokenizerData } from "../../src/text/tokenizer-data.ts";
import type { Tokenizer } from "../../src/text/types.ts";

const VECTORS = "../shared/vectors";
const open = (path: string): Tokenizer => {
  return createTokenizer(decodeTokenizerData(encodeTokenizerData(buildTokenizerData(openGguf(path)))));
};
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function checkExtended(tokenizer: Tokenizer, name: string): void {
  const lines = readFileSync(`${VECTORS}/tokenizer/extended/${name}.jsonl`, "utf8").trim().split("\n");
  expect(lines.length).toBeGreaterThan(60);
  for (const line of lines) {
    const expected = JSON.parse(line);
    const bytes = Buffer.from(expected.text_hex, "hex");
    const ids = tokenizer.encode(bytes, { special: true });
    const got = {
      plain: tokenizer.encode(bytes),
      parse_special: ids,
      add_special_parse_special: tokenizer.encode(bytes, { special: true, bos: true }),
      pieces_hex_of_parse_special: ids.map((id) => hex(tokenizer.bytes(id, true))),
    };
    expect({ ...expected, ...got }).toEqual(expected);
  }
}

describe.runIf(existsSync(VECTORS))("ids of llama.cpp", () => {
  test.each([
    "llama-bpe",
    "gpt-2",
    "qwen2",
    "llama-spm",
    "phi-3",
    "deepseek-coder",
    "deepseek-llm",
    "falcon",
    "starcoder",
  ])("%s", (name) => {
    const path = `${VECTORS}/tokenizer/ggml-vocab-${name}.gguf`;
    const tokenizer = open(path);
    const texts = readFileSync(`${path}.inp`, "utf8").split("\n__ggml_vocab_test__\n");
    const lines = readFileSync(`${path}.out`, "utf8").split("\n");
    expect(texts.length).toBeGreaterThan(40);
    texts.forEach((text, i) => {
      expect(tokenizer.encode(text), text).toEqual(lines[i].trim().split(" ").filter(Boolean).map(Number));
    });
    checkExtended(tokenizer, `ggml-vocab-${name}`);
  });

  test("smollm3", () => {
    const folder = `${VECTORS}/smollm3`;
    const tokenizer = open(`${folder}/smollm3-vocab-synthetic.gguf`);
    checkExtended(tokenizer, "smollm3-vocab-synthetic");
    const read = (name: string) => JSON.parse(readFileSync(`${folder}/${name}.json`, "utf8"));
    for (const { text, ids } of read("rendered_token_ids")) {
      expect(tokenizer.encode(text, { special: true })).toEqual(ids);
      expect(tokenizer.decode(ids, true)).toBe(text);
    }
    const differences = read("smaug_vs_llama_bpe_differences");
    expect(differences).toHaveLength(588);
    for (const { text_hex, smaug_bpe } of differences) {
      expect(tokenizer.encode(Buffer.from(text_hex, "hex"))).toEqual(smaug_bpe);
    }
    for (const [id, { content }] of Object.entries<{ content: string }>(read("special_tokens"))) {
      expect(tokenizer.encode(content, { special: true })).toEqual([Number(id)]);
    }
    expect([...tokenizer.endOfGeneration]).toContain(128012);
  });

  test("llama-bpe takes whole words where smaug-bpe merges", () => {
    const tokenizer = open(`${VECTORS}/tokenizer/ggml-vocab-llama-bpe.gguf`);
    const path = `${VECTORS}/smollm3/smaug_vs_llama_bpe_differences.json`;
    for (const { text_hex, llama_bpe_ignore_merges } of JSON.parse(readFileSync(path, "utf8"))) {
      expect(tokenizer.encode(Buffer.from(text_hex, "hex"))).toEqual(llama_bpe_ignore_merges);
    }
  });
});

const TINY = "../shared/models";
describe.runIf(existsSync(TINY))("the small chat model", () => {
  test("cases and prompts", () => {
    const tokenizer = open(`${TINY}/tiny-chat-q8_0.gguf`);
    const expected = JSON.parse(readFileSync(`${TINY}/tiny-chat-expected.json`, "utf8"));
    for (const { text, ids, ids_specials_as_text } of expected.tokenizer_cases) {
      expect(tokenizer.encode(text, { special: true })).toEqual(ids);
      expect(tokenizer.encode(text)).toEqual(ids_specials_as_text);
    }
    for (const { rendered, token_ids } of expected.prompts) {
      expect(tokenizer.encode(rendered, { special: true, bos: true })).toEqual(token_ids);
    }
  });
});
