import { afterAll, expect, it } from "vitest";
import { rehearse } from "../../src/engine/rehearsal.ts";
import { openGguf } from "../../src/gguf/open.ts";
import { planModel } from "../../src/model/plan-model.ts";
import { planFiles } from "../../src/unpack/planned-file.ts";
import { modelFolder } from "./model-fixture.ts";

const models = modelFolder();
afterAll(() => models.remove());

const rehearsalsOf = async (changes: Parameters<typeof models.make>[0], threads: number) => {
  const gguf = openGguf(models.make(changes));
  const plan = planModel(gguf);
  gguf.close();
  const layers = [
    { tensors: planFiles(plan, "f32")[1].tensors, kvType: "f32" },
    { tensors: planFiles(plan, "q8")[1].tensors, kvType: "f16" },
  ] as const;
  return rehearse(plan.model, layers, threads);
};

it("times every layer with any number of threads, and ends its threads", async () => {
  for (const threads of [1, 3]) {
    const rehearsals = await rehearsalsOf({}, threads);
    expect(rehearsals).toHaveLength(2);
    for (const { decode, prefill, attention } of rehearsals) {
      expect(decode).toBeGreaterThan(0);
      expect(prefill).toBeGreaterThan(0);
      expect(attention).toBeGreaterThanOrEqual(0);
    }
  }
});

it("takes longer for larger layers, and less for a row of many than for one alone", async () => {
  const [small] = await rehearsalsOf({}, 1);
  const [large] = await rehearsalsOf({ width: 512, feedForward: 4096, heads: 8 }, 1);
  expect(large.decode).toBeGreaterThan(5 * small.decode);
  expect(large.prefill).toBeLessThan(large.decode);
});
