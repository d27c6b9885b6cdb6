import { describe, expect, it } from "vitest";
import { modelSet } from "../../src/hub/model-set.ts";

const REPO = "org/repo";
const parts = (name: string, count: number) =>
  Array.from({ length: count }, (_, part) => `${name}-0000${part + 1}-of-0000${count}.gguf`);

describe("of a repository is taken", () => {
  it.each<[string, string[], string | undefined, string[], string]>([
    ["the only GGUF file", ["README.md", "a-Q5_0.gguf"], undefined, ["a-Q5_0.gguf"], "hf:org/repo"],
    [
      "Q4_K_M of several",
      ["a-Q4_K_S.gguf", "a-Q4_K_M.gguf"],
      undefined,
      ["a-Q4_K_M.gguf"],
      "hf:org/repo:Q4_K_M",
    ],
    ["the quant, in any case", ["a-Q8_0.gguf", "a-F16.gguf"], "f16", ["a-F16.gguf"], "hf:org/repo:f16"],
    [
      "a word before a part of one",
      ["a-Q4_K.gguf", "a-Q4_K_M.gguf"],
      "Q4_K",
      ["a-Q4_K.gguf"],
      "hf:org/repo:Q4_K",
    ],
    ["no projector", ["mmproj-a-F16.gguf", "a-Q8_0.gguf"], undefined, ["a-Q8_0.gguf"], "hf:org/repo"],
    ["all parts", ["x/y.txt", ...parts("q/a-Q8_0", 3)], "Q8_0", parts("q/a-Q8_0", 3), "hf:org/repo:Q8_0"],
    [
      "the file of a set and a file",
      ["a-F16.gguf", ...parts("a-Q8_0", 2)],
      "F16",
      ["a-F16.gguf"],
      "hf:org/repo:F16",
    ],
  ])("%s", (_, files, quant, taken, name) => {
    expect(modelSet(REPO, files, quant)).toEqual({ name, files: taken, isFolder: false });
  });

  it.each<[string, string[], string[]]>([
    [
      "one file",
      ["config.json", "model.safetensors", "tokenizer.json"],
      ["config.json", "tokenizer.json", "model.safetensors"],
    ],
    [
      "one file of another name",
      ["config.json", "weights.safetensors"],
      ["config.json", "weights.safetensors"],
    ],
    [
      "the parts that the index is of",
      [
        "config.json",
        "consolidated.safetensors",
        "model-00001-of-00001.safetensors",
        "model.safetensors.index.json",
        "original/x.safetensors",
      ],
      ["config.json", "model.safetensors.index.json", "model-00001-of-00001.safetensors"],
    ],
  ])("as safetensors %s", (_, files, taken) => {
    expect(modelSet(REPO, files, undefined)).toEqual({ name: "hf:org/repo", files: taken, isFolder: true });
  });
});

describe("with what there is is refused", () => {
  it.each<[string, string[], string | undefined, RegExp, RegExp]>([
    [
      "what could be several",
      ["a-Q8_0.gguf", "a-F16.gguf"],
      undefined,
      /could be 2 models: a-F16.gguf, a-Q8_0.gguf/,
      /:F16/,
    ],
    [
      "what is not there",
      ["a-Q8_0.gguf"],
      "Q6_K",
      /hf:org\/repo:Q6_K is not there; there is a-Q8_0.gguf/,
      /:Q8_0/,
    ],
    ["what could be two of Q4_K_M", ["a-Q4_K_M.gguf", "b-Q4_K_M.gguf"], undefined, /could be 2/, /:Q4_K_M/],
    [
      "a set that lacks a part",
      parts("a", 3).slice(1),
      undefined,
      /of the 3 parts of hf:org\/repo there is a-00002/,
      /another/,
    ],
    [
      "a set with one part twice",
      [...parts("a", 2), "a-000002-of-00002.gguf"],
      undefined,
      /of the 2 parts/,
      /another/,
    ],
    [
      "a repository of something else",
      ["config.json", "model.bin"],
      undefined,
      /has no GGUF file; there is config.json, model.bin/,
      /GGUF/,
    ],
    [
      "a quant of safetensors",
      ["config.json", "model.safetensors"],
      "Q8_0",
      /has no GGUF file/,
      /`sluice pull hf:org\/repo`/,
    ],
    ["weights without configuration", ["model.safetensors"], undefined, /has no GGUF file/, /GGUF/],
    ["nothing", [], undefined, /there is nothing/, /GGUF/],
  ])("%s", (_, files, quant, message, next) => {
    expect(() => modelSet(REPO, files, quant)).toThrow(
      expect.objectContaining({
        code: "bad-input",
        message: expect.stringMatching(message),
        next: expect.stringMatching(next),
      }),
    );
  });
});
