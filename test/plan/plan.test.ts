import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { usefulDtypes } from "../../src/plan/needs.ts";
import { makePlan, type Plan, planWith } from "../../src/plan/plan.ts";
import { openSubject } from "../../src/plan/subject.ts";
import { cacheBytes, openCache } from "../../src/store/cache.ts";
import { modelFolder } from "../engine/model-fixture.ts";

const models = modelFolder();
afterAll(() => models.remove());

const root = join(models.folder, "cache");
/** A plan for a machine that is made up: a disk of 1 GB/s, and a tenth of a millisecond for a layer. */
function planOf(path: string, contextLength?: number): Plan {
  const subject = openSubject(path);
  return planWith(
    subject,
    { root, threads: 2, contextLength },
    {
      disk: { direct: 1e9, buffered: 5e8, cached: 1e10 },
      diskFree: 1e12,
      memoryFree: 1e9,
      rehearsals: new Map(
        usefulDtypes(subject.plan).map((dtype) => [dtype, { decode: 1e-4, prefill: 1e-5, attention: 1e-8 }]),
      ),
    },
  );
}
const dtypeOf = (plan: Plan, name: string) => plan.dtypes.find(({ dtype }) => dtype === name)!;

describe("a plan", () => {
  it("knows the bytes of every cache exactly, before and after unpacking, tied and untied", async () => {
    for (const untied of [false, true]) {
      const path = models.make({ untied, seed: untied ? 2 : 1 });
      const plan = planOf(path);
      for (const dtype of ["f32", "q8"] as const) {
        const folder = await models.unpack(path, { dtype });
        const { manifest } = openCache(folder);
        expect(dtypeOf(plan, dtype).bytes).toBe(cacheBytes(manifest));
        const after = planOf(folder);
        expect(after.dtypes.map(({ bytes }) => bytes)).toEqual(plan.dtypes.map(({ bytes }) => bytes));
        expect(after.parameters).toBe(plan.parameters);
        const read = [...manifest.layers, manifest.output, ...(untied ? [] : [manifest.embedding])];
        expect(dtypeOf(plan, dtype).sweepBytes).toBe(read.reduce((sum, { bytes }) => sum + bytes, 0));
      }
    }
  });

  it("is made from measurements of this machine, and writes nothing where there is no root", async () => {
    const nowhere = join(models.folder, "nowhere");
    const plan = await makePlan(openSubject(models.make()), { root: nowhere, threads: 1 });
    expect(existsSync(nowhere)).toBe(false);
    expect(plan.disk).toBeDefined();
    expect(plan.diskFree).toBeGreaterThan(0);
    expect(plan.memoryFree).toBeGreaterThan(0);
    for (const { forecasts } of plan.dtypes) expect(forecasts[5].secondsPerToken).toBeGreaterThan(0);
  });

  it("counts a KV cache that does not stay in memory", () => {
    const path = models.make({ layers: 4, context: 4096 } as never);
    const planned = (kvRam?: number) => {
      const measured = {
        disk: { direct: 1e9, buffered: 5e8, cached: 1e10 },
        diskFree: 1e12,
        memoryFree: 1e9,
      };
      const rehearsals = new Map([["q8" as const, { decode: 1e-4, prefill: 1e-5, attention: 1e-8 }]]);
      const options = { root, threads: 2, contextLength: 4096, kvRam };
      return planWith(openSubject(path), options, { ...measured, rehearsals });
    };
    const plain = planned();
    const bytes = plain.kvBytesPerToken.f16 * 4096;
    expect(plain.dtypes[0].kvSplit).toBeUndefined();
    expect(planned(bytes).dtypes[0].kvSplit).toEqual({
      residentLayers: 4,
      memoryBytes: bytes,
      streamedBytes: 0,
    });
    const [half] = planned(bytes / 2).dtypes;
    expect(half.kvSplit).toEqual({
      residentLayers: 1,
      memoryBytes: bytes / 2,
      streamedBytes: (bytes * 3) / 4,
    });
    expect(half.attentionSeconds).toBeCloseTo(plain.dtypes[0].attentionSeconds + (bytes * 3) / 4 / 1e9, 12);
    expect(planned(bytes / 5).dtypes[0].kvSplit).toBeNull();
  });

  it("follows the law: the slower of disk and arithmetic", () => {
    const { sweepBytes, forecasts, attentionSeconds } = dtypeOf(planOf(models.make(), 100), "f32");
    expect(forecasts[0].secondsPerToken).toBeGreaterThanOrEqual(sweepBytes / 1e9);
    expect(attentionSeconds).toBeCloseTo(1e-8 * 100 * 4, 12);
  });

  it("gives every budget a speed that more memory never makes worse", async () => {
    const { dtypes } = planOf(models.make());
    for (const { forecasts, ringBytes } of dtypes) {
      expect(forecasts.map(({ budget }) => budget)).toEqual(["stream", "25%", "50%", "75%", "auto", "all"]);
      expect(forecasts[0].ramBytes).toBe(ringBytes);
      const known = forecasts.flatMap(({ secondsPerToken }) => secondsPerToken ?? []);
      for (const [index, seconds] of known.entries()) {
        expect(seconds).toBeGreaterThan(0);
        if (index > 0) expect(seconds).toBeLessThanOrEqual(known[index - 1]);
      }
    }
  });

  it("plans the KV cache for the context that is asked for", async () => {
    const path = models.make();
    // Keys and values of 4 layers, 2 heads of 16.
    expect(planOf(path, 100).kvBytesPerToken).toEqual({
      f16: 2 * 4 * 2 * 16 * 2,
      f32: 2 * 4 * 2 * 16 * 4,
      // A scale of two bytes for each head, which is less than 32 values.
      q8: 2 * 4 * 2 * (16 + 2),
    });
    expect(planOf(path, 100).contextLength).toBe(100);
    expect(planOf(path).contextLength).toBe(512);
  });
});

describe("the recommended dtype", () => {
  it.each([
    ["q8_0", "q8"],
    ["f16", "f16"],
    ["bf16", "native"],
    ["q4_0", "native"],
    ["f32", "f32"],
    ["q5_1", "native"],
    ["q1_0", "f32"],
  ])("of a model in %s is %s: the fewest bytes that keep its weights", async (type, dtype) => {
    const plan = planOf(models.make({ type, width: 128, feedForward: 256 }));
    expect(plan.recommended).toBe(dtype);
    expect(dtypeOf(plan, dtype).exact).toBe(true);
    for (const { exact, bytes } of plan.dtypes)
      if (exact) expect(bytes).toBeGreaterThanOrEqual(dtypeOf(plan, dtype).bytes);
  });

  it("stands beside native only where that is something else", async () => {
    const dtypes = async (type: string) => planOf(models.make({ type })).dtypes.map(({ dtype }) => dtype);
    expect(await dtypes("q8_0")).toEqual(["f32", "f16", "q8"]);
    expect(await dtypes("q4_0")).toEqual(["f32", "native", "f16", "q8"]);
  });
});
