import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeModel, PRESETS } from "../../scripts/synthetic/model.mjs";
import { glyphsFor } from "../../src/cli/glyphs.ts";
import { inspectJson } from "../../src/cli/inspect-json.ts";
import { layoutLines } from "../../src/cli/inspect-layout.ts";
import { mixLines } from "../../src/cli/inspect-mix.ts";
import type { Needs } from "../../src/cli/inspect-summary.ts";
import { inspectText } from "../../src/cli/inspect-text.ts";
import { openGguf } from "../../src/gguf/open.ts";
import { GgufWriter } from "../../src/gguf/writer.ts";
import { SUPPORTED_TYPES } from "../../src/quant/index.ts";
import { cacheBytes } from "../../src/store/cache.ts";
import { unpack } from "../../src/unpack/unpack.ts";
import { EVERY_TYPE, writeSmallFile } from "../gguf/small-file.ts";
import { splitModel } from "../gguf/split-files.ts";
import { makeMixedFile } from "../unpack/models.ts";
import { MODEL } from "./spawn.ts";

const typeOf = ({ type }: { type: string }) => type;
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
    metadata: [
      ...EVERY_TYPE,
      ["large", { type: "array", items: "int64", values: [-(2n ** 63n), 5n] }],
      ["title", { type: "string", value: "\x1b]0;owned\x07" }],
    ],
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
    expect(text).toContain("tokenizer: gpt2 (smaug-bpe), 512 tokens; chat template: ");
    expect(text).toMatch(/^ {2}bytes by type +q8_0 +f32 +together$/m);
    expect(text).toMatch(/^ {2}each of 4 layers: 0-3 +52\.2 kB +512 B +52\.7 kB$/m);
    expect(text).toMatch(/^ {2}tensors +29 +9 +38$/m);
  });

  it("shows every type of a file that mixes them, and that it can run", () => {
    const gguf = openGguf(makeMixedFile(SUPPORTED_TYPES, 4));
    const { runnable, types } = JSON.parse(inspectJson(gguf));
    const text = inspectText(gguf);
    gguf.close();
    expect(runnable).toBe(true);
    expect(types.map(typeOf).sort()).toEqual([...SUPPORTED_TYPES].sort());
    expect(text).toContain("sluice can run it\n");
    expect(text).toMatch(new RegExp(`^ {2}bytes by type +${types.map(typeOf).join(" +")} +together$`, "m"));
  });

  it("says why a model cannot run, and lets no control characters through", () => {
    const text = inspect("small.gguf", inspectText);
    expect(text).toContain("sluice cannot run it: ");
    expect(text).toContain('title = "\\u{1b}]0;owned\\u{7}"');
    expect(text).toContain("u64 = 9223372036854775809  (uint64)");
    expect(text).toContain("bools = [true, false]  (2 bool)");
    expect(text).toContain("large = [-9223372036854775808, 5]  (2 int64)");
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
    expect(model.types.map(typeOf)).toEqual(["q8_0", "f32"]);

    const small = JSON.parse(inspect("small.gguf", inspectJson));
    expect(small.runnable).toBe(false);
    expect(small.reason).toContain("missing");
    expect(small.metadata.u64).toEqual({ type: "uint64", value: "9223372036854775809" });
    expect(small.metadata.large.values).toEqual(["-9223372036854775808", 5]);
    expect(small.metadata.words.values).toEqual(["a", "", "ccc", "\ufffd\ufffd"]);
    expect(Object.keys(small.metadata)).toContain("__proto__");
  });

  it("says what running it takes in each dtype, and which keeps every weight", async () => {
    const path = join(folder, "tiny.gguf");
    const { needs, recommended, context } = JSON.parse(inspect("tiny.gguf", inspectJson));
    expect([recommended, context]).toEqual(["q8", 512]);
    expect(needs.map(({ dtype, exact, rounded }: Needs) => [dtype, exact, rounded])).toEqual([
      ["f32", true, []],
      ["f16", false, ["q8_0"]],
      ["q8", true, []],
    ]);
    for (const { dtype, diskBytes, memoryBytes } of needs as Needs[]) {
      const { manifest } = await unpack(path, { root: folder, dtype });
      expect(diskBytes).toBe(cacheBytes(manifest));
      expect(memoryBytes).toBeGreaterThan(200e6);
      expect(memoryBytes).toBeLessThan(220e6);
    }
    expect(inspect("tiny.gguf", inspectText)).toMatch(/^ {2}q8 \(recommended\) +[\d.]+ kB +\d+ MB +exact$/m);
  });

  it("gives the mix of each layer, and groups layers alike", () => {
    const path = makeMixedFile(["q4_K", "q6_K", "q4_K", "q4_K", "q5_K"], 10);
    const gguf = openGguf(path);
    const { mix } = JSON.parse(inspectJson(gguf));
    const lines = mixLines(gguf);
    const bytes = [...gguf.tensors.values()].reduce((sum, tensor) => sum + tensor.bytes, 0);
    gguf.close();
    expect(mix.map(({ name }: { name: string }) => name)).toEqual([
      "embedding",
      ...Array.from({ length: 10 }, (_, layer) => `layer ${layer}`),
      "output",
    ]);
    const sizes = mix.flatMap((place: { bytes: Record<string, number> }) => Object.values(place.bytes));
    expect(sizes.reduce((sum: number, size: number) => sum + size, 0)).toBe(bytes);
    expect(lines.filter((line) => line.includes("each of"))).toHaveLength(5);
    expect(lines.join("\n")).toMatch(/^ {2}each of 2 layers: 0 5 /m);
  });
});

describe("inspect --layout", () => {
  const glyphs = glyphsFor({ LANG: "C.UTF-8" });
  const layout = (path: string, verbose = false) => {
    const gguf = openGguf(path);
    try {
      return layoutLines(gguf, { verbose, glyphs });
    } finally {
      gguf.close();
    }
  };

  it("draws header, metadata, table, tensors and gaps in a screen", () => {
    const lines = layout(MODEL);
    expect(lines).toHaveLength(10);
    const text = lines.join("\n");
    expect(text).toMatch(/ 24 +28310 +█·+ {2}metadata, 32 keys: tokens 12\.1 kB, merges 10\.3 kB$/m);
    expect(text).toMatch(/ 47719 +25 +█·+ {2}gap: data begins at a multiple of 32$/m);
    expect(text).toMatch(
      / 117376 +1898496 +·█+ {2}layers 0 to 35, each 52\.7 kB: 9 tensors, q8_0 52\.2 kB, f32 512 B$/m,
    );
    expect(text).toContain("1 gap for alignment to 32, 25 bytes together");
    const all = layout(MODEL, true).join("\n");
    expect(all).toMatch(/ {2}blk\.17\.ffn_up\.weight {2}q8_0 {2}64 x 192$/m);
  });

  it("draws every part of a set, and still no more than a screen or so", () => {
    const sets = join(folder, "sets");
    mkdirSync(sets);
    const few = layout(splitModel(MODEL, sets, "few", [0, 100, 0])[0]);
    expect(few.filter((line) => /^part \d of 3, /.test(line))).toHaveLength(3);
    expect(few.length).toBeLessThan(40);
    const many = layout(
      splitModel(
        MODEL,
        sets,
        "many",
        Array.from({ length: 40 }, () => 8),
      )[0],
    );
    expect(many.length).toBeLessThan(75);
    expect(many).toContain("… 32 more parts (--verbose shows them)");
  });

  it("folds what would take screens, and lets no control characters through", () => {
    const path = join(folder, "hostile.gguf");
    const tensors = Array.from({ length: 500 }, (_, index) => ({
      name: `\x1b[2J${index}`,
      type: "f32",
      shape: [3],
    }));
    const writer = new GgufWriter(path, {
      metadata: [["\x1b]0;x\x07", { type: "string", value: "y".repeat(5000) }]],
      tensors,
    });
    for (let index = 0; index < 500; index++) writer.write(new Uint8Array(12));
    writer.close();
    const lines = layout(path);
    expect(lines.length).toBeLessThan(36);
    expect(lines.join("\n")).toMatch(/ … 47\d more stretches \(--verbose shows them\)$/m);
    for (const text of [
      lines,
      layout(path, true),
      [inspect("hostile.gguf", inspectText)],
      [inspect("hostile.gguf", inspectJson)],
    ])
      expect(text.join("").replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });
});
