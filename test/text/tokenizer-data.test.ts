import { pack, unpack } from "msgpackr";
import { describe, expect, test } from "vitest";
import { buildTokenizerData } from "../../src/text/build-tokenizer-data.ts";
import {
  decodeTokenizerData,
  encodeTokenizerData,
  type TokenizerData,
} from "../../src/text/tokenizer-data.ts";
import { fakeGguf } from "./fake-gguf.ts";
import { BPE, SPM } from "./tiny-tokenizers.ts";

const TEMPLATES = { "tokenizer.chat_template": "{{ 1 }}", "tokenizer.chat_template.tool_use": "{{ 2 }}" };
const bpe = buildTokenizerData(fakeGguf({ ...BPE, ...TEMPLATES }));

describe("tokenizer.msgpack", () => {
  test.each([
    ["BPE", bpe],
    ["SentencePiece", buildTokenizerData(fakeGguf(SPM))],
  ])("%s comes back as it was, wherever it lies in memory", (_, data) => {
    const file = encodeTokenizerData(data);
    for (let shift = 0; shift < 4; shift++) {
      const moved = new Uint8Array(file.length + shift).subarray(shift);
      moved.set(file);
      expect(plain(decodeTokenizerData(moved))).toEqual(plain(data));
    }
  });

  test("keeps all chat templates by name", () => {
    expect({ ...bpe.chatTemplates }).toEqual({ default: "{{ 1 }}", tool_use: "{{ 2 }}" });
  });

  test("is refused where it is cut or of another format", () => {
    const file = encodeTokenizerData(bpe);
    for (let length = 0; length < file.length; length += 97) {
      expect(() => decodeTokenizerData(file.subarray(0, length))).toThrow(/unpacked tokenizer/);
    }
    expect(() => decodeTokenizerData(pack({ ...unpack(file), format: 99 }))).toThrow(/its format is 99/);
    expect(() => decodeTokenizerData(pack(null))).toThrow(/unpacked tokenizer/);
    expect(() => decodeTokenizerData(pack({ ...unpack(file), bytes: [4, 8] }))).toThrow(/table is missing/);
  });

  test("is refused where an id points out of its table", () => {
    const far = (part: Partial<TokenizerData>) => () => {
      decodeTokenizerData(encodeTokenizerData({ ...bpe, ...part }));
    };
    expect(far({ eos: 263 })).toThrow(/special ids/);
    expect(far({ byteSymbols: new Int32Array(256).fill(9999) })).toThrow(/byteSymbols/);
    expect(far({ index: bpe.index.map((id) => id + 300) })).toThrow(/index/);
    expect(far({ index: bpe.index.map((id) => Math.max(0, id)) })).toThrow(/hash table/);
    expect(far({ merges: { ...bpe.merges, left: new Int32Array(0) } })).toThrow(/merges are cut/);
  });
});

/** Without the difference between Buffer and Uint8Array, or undefined and absent. */
function plain(data: TokenizerData): unknown {
  return JSON.parse(
    JSON.stringify(data, (_, value) => {
      if (value?.type === "Buffer") return value.data;
      return ArrayBuffer.isView(value) ? Array.from(value as Uint8Array) : (value ?? undefined);
    }),
  );
}
