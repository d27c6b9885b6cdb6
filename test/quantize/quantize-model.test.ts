import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeModel, PRESETS } from "../../scripts/synthetic/model.mjs";
import { readStrings } from "../../src/gguf/arrays.ts";
import { openGguf } from "../../src/gguf/open.ts";
import { typeOf } from "../../src/quantize/mix.ts";
import { quantizeModel } from "../../src/quantize/quantize-model.ts";
import { allLogits, modelFolder, nmse } from "../engine/model-fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-quantize-"));
const models = modelFolder();
afterAll(() => {
  models.remove();
  rmSync(folder, { recursive: true });
});

let made = 0;
function source(changes: object = {}): string {
  const path = join(folder, `source-${made++}.gguf`);
  makeModel(path, { ...PRESETS["tiny"], type: "f32", width: 256, feedForward: 512, layers: 9, ...changes });
  return path;
}

const ids = [5, 100, 7, 250, 31, 5, 5, 199];

describe("a quantized model", () => {
  it.each([
    ["q8_0", 1e-3],
    ["q6_k", 5e-3],
    ["q5_k_m", 2e-2],
    ["q5_1", 2e-2],
    ["q4_k_m", 8e-2],
    ["q4_0", 1.5e-1],
  ] as const)("in %s says nearly the same", async (recipe, limit) => {
    const from = source();
    const path = join(folder, `${recipe}.gguf`);
    const { types } = await quantizeModel(from, path, recipe);
    expect([...types.values()].reduce((sum, count) => sum + count)).toBe(
      withGguf(from, ({ tensors }) => tensors.size),
    );
    const exact = await models.open(from, { dtype: "f32" });
    const want = await allLogits(exact, ids);
    await exact.close();
    const native = await models.open(path, { dtype: "native" });
    const error = nmse(await allLogits(native, ids), want);
    await native.close();
    expect(error).toBeLessThan(limit);
    expect(error).toBeGreaterThan(0);
  });

  it("has all metadata, and says what it is now", async () => {
    const from = source();
    const path = join(folder, "metadata.gguf");
    await quantizeModel(from, path, "q4_k_m");
    const before = withGguf(from, ({ metadata }) => [...metadata.keys()].sort());
    withGguf(path, (gguf) => {
      const own = ["general.file_type", "general.quantization_version"];
      expect([...gguf.metadata.keys()].sort()).toEqual([...new Set([...before, ...own])].sort());
      expect(gguf.metadata.get("general.file_type")).toEqual({ type: "uint32", value: 15 });
      expect(tokens(gguf)).toEqual(withGguf(from, tokens));
      expect(tokens(gguf).length).toBeGreaterThan(200);
    });
  });

  it("is the same whatever the number of threads", async () => {
    const from = source();
    const bytes = [];
    for (const threads of [1, 3]) {
      const path = join(folder, `threads-${threads}.gguf`);
      await quantizeModel(from, path, "q4_k_m", { threads });
      bytes.push(
        withGguf(path, (gguf) => {
          const all = new Uint8Array(gguf.fileBytes);
          gguf.read(0, all);
          return Buffer.from(all).toString("base64");
        }),
      );
    }
    expect(bytes[1] === bytes[0]).toBe(true);
  });

  it("is refused of a source that is quantized, and nothing is written", async () => {
    const from = source({ type: "q8_0" });
    const path = join(folder, "refused.gguf");
    await expect(quantizeModel(from, path, "q4_0")).rejects.toThrow(/is quantized already/);
    expect(readdirSync(folder).filter((name) => name.startsWith("refused"))).toEqual([]);
  });

  it("leaves what was there when it is aborted", async () => {
    const from = source();
    const path = join(folder, "aborted.gguf");
    writeFileSync(path, "before");
    const controller = new AbortController();
    const onProgress = () => controller.abort();
    await expect(
      quantizeModel(from, path, "q4_0", { signal: controller.signal, onProgress }),
    ).rejects.toMatchObject({ code: "aborted" });
    expect(readdirSync(folder).filter((name) => name.endsWith(".partial"))).toEqual([]);
    expect(() => openGguf(path)).toThrow();
  });
});

function tokens(gguf: ReturnType<typeof openGguf>): string[] {
  const found = gguf.metadata.get("tokenizer.ggml.tokens")!;
  return found.type === "array" ? [...readStrings(gguf, found)].map(String) : [];
}

function withGguf<Result>(path: string, use: (gguf: ReturnType<typeof openGguf>) => Result): Result {
  const gguf = openGguf(path);
  try {
    return use(gguf);
  } finally {
    gguf.close();
  }
}

describe("what a tensor becomes", () => {
  const matrix = (name: string, columns = 256) => ({ name, type: "f16", shape: [columns, 64] });

  it("of 36 layers, as llama.cpp mixes them", () => {
    const better = (recipe: "q4_k_m" | "q4_k") =>
      Array.from({ length: 36 }, (_, layer) => layer).filter(
        (layer) => typeOf(recipe, matrix(`blk.${layer}.ffn_down.weight`), 36, true) === "q6_K",
      );
    expect(better("q4_k_m")).toEqual([0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 31, 32, 33, 34, 35]);
    expect(better("q4_k")).toEqual([]);
    expect(typeOf("q4_k_m", matrix("blk.0.attn_q.weight"), 36, true)).toBe("q4_K");
    expect(typeOf("q4_0", matrix("token_embd.weight"), 36, true)).toBe("q6_K");
    expect(typeOf("q4_0", matrix("token_embd.weight"), 36, false)).toBe("q4_0");
    expect(typeOf("q8_0", matrix("output.weight"), 36, false)).toBe("q8_0");
  });

  it("where columns do not fill blocks", () => {
    expect(typeOf("q4_k_m", matrix("blk.0.attn_q.weight", 64), 36, true)).toBe("q5_0");
    expect(typeOf("q6_k", matrix("blk.0.attn_q.weight", 96), 36, true)).toBe("q8_0");
    expect(typeOf("q4_0", matrix("blk.0.attn_q.weight", 50), 36, true)).toBe("f16");
  });

  it("vectors and norms stay", () => {
    expect(typeOf("q4_0", { name: "output_norm.weight", type: "f32", shape: [256] }, 36, true)).toBe("f32");
    expect(typeOf("q4_0", { name: "blk.0.attn_q.bias", type: "f32", shape: [256] }, 36, true)).toBe("f32");
  });
});
