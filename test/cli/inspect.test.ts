import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeModel, PRESETS } from "../../scripts/synthetic/model.mjs";
import { inspectJson, inspectText } from "../../src/cli/inspect.ts";
import { openGguf } from "../../src/gguf/open.ts";
import { SUPPORTED_TYPES } from "../../src/quant/index.ts";
import { EVERY_TYPE, writeSmallFile } from "../gguf/small-file.ts";
import { makeMixedFile } from "../unpack/models.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-inspect-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function inspect<T>(name: string, use: (gguf: ReturnType<typeof openGguf>) => T): T {
  const gguf = openGguf(join(folder, name));
  try {
    return use(gguf);
  } finally {
    gguf.close();
  }
}

describe("inspect", () => {
  makeModel(join(folder, "tiny.gguf"), PRESETS["tiny"]);
  writeSmallFile(join(folder, "small.gguf"), {
    metadata: [...EVERY_TYPE, ["title", { type: "string", value: "\x1b]0;owned\x07" }]],
  });

  it("shows header, metadata, tensors and totals of a model that can run", () => {
    const text = inspect("tiny.gguf", inspectText);
    expect(text).toContain("tiny.gguf: GGUF version 3, 259520 bytes (260 kB)");
    expect(text).toContain("sluice can run it\n");
    expect(text).toContain("  smollm3.attention.layer_norm_rms_epsilon = 0.000001  (float32)");
    expect(text).toContain(
      'tokenizer.ggml.merges = ["a a", "a b", "a c", "a d", "a e", "a f", "a g", "a h", …]  (240 string)',
    );
    expect(text).toMatch(/ {2}blk\.3\.ffn_down\.weight +q8_0 +192 x 64 +\d+ +13056\n/);
    expect(text).toMatch(/ {2}q8_0 +29 +229376 +244 kB/);
  });

  it("shows every type of a file that mixes them, and that it can run", () => {
    const gguf = openGguf(makeMixedFile(SUPPORTED_TYPES, 4));
    const { runnable, types } = JSON.parse(inspectJson(gguf));
    const text = inspectText(gguf);
    gguf.close();
    expect(runnable).toBe(true);
    expect(types.map(({ type }: { type: string }) => type).sort()).toEqual([...SUPPORTED_TYPES].sort());
    expect(text).toContain("sluice can run it\n");
    for (const type of SUPPORTED_TYPES)
      expect(text).toMatch(new RegExp(`^ {2}${type} +\\d+ +\\d+ +[\\d.]+ [kM]?B$`, "m"));
  });

  it("says why a model cannot run, and lets no control characters through", () => {
    const text = inspect("small.gguf", inspectText);
    expect(text).toContain("sluice cannot run it: ");
    expect(text).toContain('title = "\\u{1b}]0;owned\\u{7}"');
    expect(text).toContain("u64 = 9223372036854775809  (uint64)");
    expect(text).toContain("bools = [true, false]  (2 bool)");
    expect(text).toMatch(/^[^\p{Cc}]*$/mu);
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  it("gives the same as JSON, with long arrays cut", () => {
    const model = JSON.parse(inspect("tiny.gguf", inspectJson));
    expect(model).toMatchObject({ version: 3, alignment: 32, runnable: true, bytes: 259_520 });
    expect(model.metadata["tokenizer.ggml.token_type"]).toEqual({
      type: "array",
      items: "int32",
      length: 512,
      first: [1, 1, 1, 1, 1, 1, 1, 1],
    });
    expect(model.tensors[0]).toMatchObject({ name: "token_embd.weight", type: "q8_0", shape: [64, 512] });
    expect(model.types.map(({ type }: { type: string }) => type)).toEqual(["q8_0", "f32"]);

    const small = JSON.parse(inspect("small.gguf", inspectJson));
    expect(small.runnable).toBe(false);
    expect(small.reason).toContain("missing");
    expect(small.metadata.u64).toEqual({ type: "uint64", value: "9223372036854775809" });
    expect(small.metadata.words.values).toEqual(["a", "", "ccc", "\ufffd\ufffd"]);
    expect(Object.keys(small.metadata)).toContain("__proto__");
  });
});
