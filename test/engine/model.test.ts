import { afterAll, describe, expect, it } from "vitest";
import { PACKED_DTYPES } from "../../src/store/packed-panel.ts";
import { columnsUnit, isQuantized } from "../../src/store/panel.ts";
import { DTYPES } from "../../src/store/types.ts";
import { allLogits, fileLogits, modelFolder, nmse } from "./model-fixture.ts";

const ids = [5, 100, 7, 250, 31, 5, 5, 199, 64, 1, 2, 3, 90, 91, 92, 93, 94, 95, 96, 97, 98];

describe("logits against the reference transformer", () => {
  const models = modelFolder();
  afterAll(() => models.remove());

  it.each([
    ["smollm3, tied, f32", { type: "f32" }],
    ["smollm3, tied, q8_0", { layers: 8 }],
    ["llama, untied, f16", { arch: "llama", type: "f16", untied: true }],
    [
      "shapes that fill no panel or block",
      { type: "f32", width: 60, heads: 6, kvHeads: 3, feedForward: 101 },
    ],
    ["a vocabulary that fills no panel", { vocabulary: 275, untied: true }],
    ["one head, one layer", { type: "f32", heads: 1, kvHeads: 1, layers: 1 }],
  ])("%s", async (_, changes) => {
    const path = models.make(changes);
    const model = await models.open(path);
    const got = await allLogits(model, ids);
    await model.close();
    expect(got).toHaveLength(ids.length);
    expect(nmse(got, fileLogits(path, ids))).toBeLessThan(1e-11);
  });

  // What remains is float16 keys and values, and activations of 16 bits.
  it("q8 keeps the weights of q8_0, compressed or not", async () => {
    const path = models.make();
    const want = fileLogits(path, ids);
    for (const compression of ["none", "lz4"] as const) {
      const model = await models.open(path, { dtype: "q8", compression });
      expect(model.manifest.layers[0].tensors[1].dtype).toBe("q8");
      expect(nmse(await allLogits(model, ids), want)).toBeLessThan(1e-6);
      await model.close();
    }
  });

  // Exact weights: what remains is float16 keys and values, and for blocks activations of 16 bits.
  it.each([
    ["f16", "f16", "f16"],
    ["f16", "native", "f16"],
    ["bf16", "native", "bf16"],
    ["q8_0", "native", "q8"],
    ["q4_0", "native", "q4"],
    ["f32", "native", "f32"],
    ...PACKED_DTYPES.map((type) => [type, "native", type] as const),
  ] as const)("%s as %s keeps the weights", async (type, dtype, stored) => {
    const sizes = columnsUnit(stored) === 256 ? { width: 256, feedForward: 512 } : {};
    const path = models.make({ type, untied: true, layers: 3, ...sizes });
    const model = await models.open(path, { dtype });
    const [layer] = model.manifest.layers;
    expect(new Set(layer.tensors.map((tensor) => tensor.dtype))).toEqual(new Set(["f32", stored]));
    const got = await allLogits(model, ids);
    await model.close();
    expect(nmse(got, fileLogits(path, ids))).toBeLessThan(1e-6);
    // With float32 keys and values nothing is rounded but activations of blocks.
    const exact = await models.open(path, { dtype, kvType: "f32" });
    const limit = isQuantized(stored) ? 1e-7 : 1e-11;
    expect(nmse(await allLogits(exact, ids), fileLogits(path, ids))).toBeLessThan(limit);
    await exact.close();
  });

  it("a native layer may mix all dtypes", async () => {
    const types = {
      ...{ attn_q: "q4_0", attn_k: "f16", attn_v: "f32", attn_output: "bf16" },
      ...{ ffn_gate: "q4_0", ffn_up: "q8_0", ffn_down: "f16", output: "q4_0" },
    };
    const path = models.make({ type: "bf16", types, untied: true });
    const model = await models.open(path, { dtype: "native", kvType: "f32" });
    const stored = model.manifest.layers[0].tensors.map(({ dtype }) => dtype);
    expect(stored).toEqual(["f32", "q4", "f16", "f32", "bf16", "f32", "q8", "f16"]);
    const error = nmse(await allLogits(model, ids), fileLogits(path, ids));
    // The gate is rounded to q8.
    expect(error).toBeLessThan(1e-4);
    await model.close();
  });

  it("f16 rounds other sources only a little, whatever shapes they have", async () => {
    const path = models.make({ type: "f32", width: 60, heads: 6, kvHeads: 3, feedForward: 101 });
    const model = await models.open(path, { dtype: "f16" });
    const error = nmse(await allLogits(model, ids), fileLogits(path, ids));
    expect(error).toBeGreaterThan(0);
    expect(error).toBeLessThan(1e-5);
    await model.close();
  });

  it("q8 rounds other sources only a little", async () => {
    const path = models.make({ type: "f32" });
    const model = await models.open(path, { dtype: "q8" });
    const error = nmse(await allLogits(model, ids), fileLogits(path, ids));
    expect(error).toBeGreaterThan(0);
    expect(error).toBeLessThan(1e-3);
    await model.close();
  });

  it("are the same to the bit with any number of threads", async () => {
    const path = models.make({ layers: 8, kvHeads: 1 });
    for (const dtype of DTYPES) {
      const runs = [];
      for (const threads of [1, 2, 3, 5]) {
        const model = await models.open(path, { dtype, threads });
        runs.push(await allLogits(model, ids));
        await model.close();
      }
      for (const run of runs.slice(1)) expect(nmse(run, runs[0])).toBe(0);
    }
  });
});
