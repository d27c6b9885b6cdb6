import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { topLogprobs } from "../../src/engine/logprobs.ts";
import type { LensPosition, TokenLogprob } from "../../src/engine/types.ts";
import { openGguf } from "../../src/gguf/open.ts";
import { referenceLens } from "../reference/transformer.ts";
import { allLogits, modelFolder } from "./model-fixture.ts";

const ids = [5, 100, 7, 250, 31, 5, 5, 199, 64, 1, 2, 3, 90, 91, 92, 93, 94, 95, 96, 97, 98];
const models = modelFolder();
afterAll(() => models.remove());

function fileLens(path: string): TokenLogprob[][][] {
  const gguf = openGguf(path);
  try {
    return referenceLens(gguf, ids).map((stages) =>
      stages.map((logits) => topLogprobs(Float32Array.from(logits), 10)),
    );
  } finally {
    gguf.close();
  }
}

function expectNear(got: readonly LensPosition[], want: readonly TokenLogprob[][][], within: number): void {
  for (const { position, stages } of got) {
    expect(stages).toHaveLength(want[position].length);
    for (const [stage, best] of stages.entries()) {
      expect(best).toHaveLength(10);
      for (const [rank, { id, logprob }] of best.entries()) {
        const right = want[position][stage][rank];
        expect(Math.abs(logprob - right.logprob)).toBeLessThan(within);
        // Two that are as good as equal may change places.
        const alone = want[position][stage].every(
          (other) => other === right || Math.abs(other.logprob - right.logprob) > within,
        );
        if (alone && rank < 9) expect(id).toBe(right.id);
      }
    }
  }
}

describe("the lens against the reference transformer", () => {
  it.each([
    ["f32, tied", { type: "f32" }, {}, 1e-4],
    ["f32, untied, compressed", { type: "f32", untied: true }, { compression: "lz4" }, 1e-4],
    [
      "shapes that fill no panel",
      { type: "f32", width: 60, heads: 6, kvHeads: 3, feedForward: 101 },
      {},
      1e-4,
    ],
    ["a vocabulary that fills no panel", { vocabulary: 275, untied: true }, {}, 1e-4],
    ["gemma2", { arch: "gemma2", type: "f32", vocabulary: 275 }, {}, 5e-3],
    ["granite", { arch: "granite", type: "f32" }, {}, 1e-4],
    ["starcoder2", { arch: "starcoder2", type: "f32", vocabulary: 275, untied: true }, {}, 5e-3],
    ["q8", {}, { dtype: "q8" }, 2e-2],
    ["in memory", { type: "f32" }, { ram: 1e9 }, 1e-4],
  ] as const)("%s", async (_, changes, options, within) => {
    const path = models.make(changes);
    const model = await models.open(path, options);
    const got = await model.lens(ids);
    await model.close();
    expect(got.map(({ position, id }) => [position, id])).toEqual([...ids.entries()]);
    expectNear(got, fileLens(path), within);
  });
});

it("ends with what the model itself says, to the bit, and sees the last positions as it sees all", async () => {
  const model = await models.open(models.make({ type: "f32", untied: true }), { threads: 3 });
  const logits = await allLogits(model, ids);
  const all = await model.lens(ids);
  for (const { position, stages } of all) {
    const last = stages[stages.length - 1];
    const own = topLogprobs(logits[position], 10);
    expect(last.map(({ id }) => id)).toEqual(own.map(({ id }) => id));
    for (const [rank, { logprob }] of last.entries()) expect(logprob).toBeCloseTo(own[rank].logprob, 10);
  }
  // The text before them goes through another sweep, without a lens.
  const three = await model.lens(ids, { positions: 3 });
  expectNear(three, all.map(({ stages }) => stages) as TokenLogprob[][][], 1e-4);
  expect(three.map(({ position }) => position)).toEqual([18, 19, 20]);
  expect(await model.lens(ids, { positions: 500 })).toEqual(all);
  // Sweeps without a lens are as they were.
  expect(await allLogits(model, ids)).toEqual(logits);
  await model.close();
});

it("finds the same with any number of threads", async () => {
  const path = models.make({ layers: 3 });
  const runs = [];
  // More threads than processors: whoever is late must not disturb the next sweep.
  for (const threads of [1, 2, 5, 5, 5, 5]) {
    const model = await models.open(path, { threads, dtype: "q8" });
    runs.push(await model.lens(ids, { positions: 17 }));
    await model.close();
  }
  for (const run of runs.slice(1)) {
    for (const [index, { stages }] of run.entries())
      for (const [stage, best] of stages.entries())
        for (const [rank, { id, logprob }] of best.entries()) {
          expect(id).toBe(runs[0][index].stages[stage][rank].id);
          expect(logprob).toBeCloseTo(runs[0][index].stages[stage][rank].logprob, 12);
        }
  }
});

it("can be stopped, and refuses what makes no sense", async () => {
  const model = await models.open(models.make({ type: "f32" }), { contextLength: 30 });
  const stopped = { signal: AbortSignal.abort() };
  await expect(model.lens(ids, stopped)).rejects.toMatchObject({ code: "aborted" });
  await expect(model.lens([])).rejects.toMatchObject({ code: "bad-input" });
  await expect(model.lens([1], { positions: 0 })).rejects.toMatchObject({ code: "bad-input" });
  await expect(model.lens(Array(31).fill(1))).rejects.toMatchObject({ code: "context-full" });
  await expect(model.lens([100000])).rejects.toMatchObject({ code: "bad-input" });
  expect(await model.lens([1, 2])).toHaveLength(2);
  await model.close();
});

it("says so where a damaged model gives no numbers", async () => {
  const path = models.make({ type: "f32", layers: 2 });
  const gguf = openGguf(path);
  const { offset } = gguf.tensors.get("output_norm.weight")!;
  gguf.close();
  const bytes = readFileSync(path);
  bytes.writeFloatLE(Number.NaN, Number(offset));
  writeFileSync(path, bytes);
  const model = await models.open(path);
  await expect(model.lens([1, 2])).rejects.toMatchObject({ code: "bad-model" });
  await model.close();
});
