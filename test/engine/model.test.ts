import { afterAll, describe, expect, it } from "vitest";
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
