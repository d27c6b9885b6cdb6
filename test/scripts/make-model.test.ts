import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeModel, PRESETS } from "../../scripts/synthetic/model.mjs";
import { merges, specialIds, tokens, tokenTypes } from "../../scripts/synthetic/vocabulary.mjs";
import { WEIGHT_TYPES } from "../../scripts/synthetic/weights.mjs";
import { openGguf } from "../../src/gguf/open.ts";
import { planModel } from "../../src/model/plan-model.ts";
import { blockFormat } from "../../src/quant/index.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-make-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("synthetic models", () => {
  it.each(WEIGHT_TYPES)("of %s are sound, with weights of the intended spread", (type) => {
    const path = join(folder, `${type}.gguf`);
    const size = blockFormat(type).blockSize > 32 ? { width: 256, feedForward: 512 } : {};
    makeModel(path, { ...PRESETS["tiny"], ...size, type });
    const gguf = openGguf(path);
    expect(planModel(gguf).layers.length).toBe(4);
    const { bytes, offset, shape } = gguf.tensors.get("blk.0.attn_q.weight")!;
    const source = new Uint8Array(bytes);
    gguf.read(offset, source);
    gguf.close();
    const values = new Float32Array(shape[0] * shape[1]);
    blockFormat(type).dequantize(source, values, values.length);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const square = values.reduce((sum, value) => sum + value * value, 0) / values.length;
    expect(Math.abs(mean)).toBeLessThan(0.02);
    expect(Math.abs(Math.sqrt(square * shape[0]) - 1)).toBeLessThan(0.1);
  });

  it("are the same for a seed and differ between seeds", () => {
    const make = (seed: number) => {
      const path = join(folder, "seed.gguf");
      makeModel(path, { ...PRESETS["tiny"], layers: 1, seed });
      return readFileSync(path).toString("base64");
    };
    expect(make(1)).toBe(make(1));
    expect(make(2)).not.toBe(make(1));
  });

  it("can be of another shape and architecture", () => {
    const path = join(folder, "other.gguf");
    const shape = {
      arch: "llama",
      heads: 8,
      kvHeads: 4,
      width: 96,
      feedForward: 160,
      layers: 3,
      untied: true,
    };
    makeModel(path, { ...PRESETS["tiny"], ...shape, type: "q4_1", vocabulary: 400 });
    const gguf = openGguf(path);
    const { model, output } = planModel(gguf);
    gguf.close();
    expect(model).toMatchObject({ architecture: "llama", headSize: 12, vocabulary: 400, tiedOutput: false });
    expect(output[1]).toMatchObject({ role: "output", rows: 400, columns: 96 });
  });
});

describe("the synthetic vocabulary", () => {
  it.each([
    [272, 0],
    [512, 240],
    [3000, 4754],
    [128_256, 281_983],
  ])("of %i tokens has distinct tokens and %i merges that agree with them", (size, count) => {
    const ids = new Map([...tokens(size)].map((token, id) => [token, id]));
    expect(ids.size).toBe(size);
    const pairs = [...merges(size)].map((merge) => merge.split(" "));
    expect(pairs.length).toBe(count);
    const wrong = pairs.find(([left, right]) => {
      const made = ids.get(left + right) ?? -1;
      return !((ids.get(left) ?? size) < made && (ids.get(right) ?? size) < made);
    });
    expect(wrong).toBeUndefined();
    expect(new Set(pairs.map(([left, right]) => `${left} ${right}`)).size).toBe(count);
    expect([...tokenTypes(size)].length).toBe(size);
  });

  it("has SmolLM3's control tokens", () => {
    const all = [...tokens(128_256)];
    expect(all[128_011]).toBe("<|im_start|>");
    expect(all[128_012]).toBe("<|im_end|>");
    expect(specialIds(128_256)).toEqual({ eos: 128_012, padding: 128_001 });
  });
});
