import { expect, test } from "vitest";
import { encodePrompt, tokenTexts } from "../../src/text/prompt.ts";
import { BPE, SPM, tokenizerOf } from "./tiny-tokenizers.ts";

test("there is one BOS, printed by the template or not, and none where the model wants none", () => {
  const spm = tokenizerOf(SPM);
  expect(encodePrompt(spm, "c")).toEqual([1, 259, 265]);
  expect(encodePrompt(spm, "<s>c")).toEqual([1, 259, 265]);
  expect(encodePrompt(tokenizerOf(BPE), "h<|im_end|>")).toEqual([0x68, 260]);
});

test("texts of BOS and EOS", () => {
  expect(tokenTexts(tokenizerOf(SPM))).toEqual({ bosToken: "<s>", eosToken: "</s>" });
  expect(tokenTexts(tokenizerOf(BPE))).toEqual({ bosToken: "", eosToken: "<|im_end|>" });
});
