import { existsSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Model } from "../../src/engine/model.ts";
import type { GenerateResult } from "../../src/engine/types.ts";
import { listCaches, removeCache } from "../../src/store/list.ts";
import { SHADOW_DTYPES } from "../../src/store/shadow.ts";
import { modelFolder } from "../engine/model-fixture.ts";

const prompt = [5, 100, 7, 250, 31, 5, 5, 199, 64, 1, 2, 3];

async function finish(model: Model, seed?: number): Promise<GenerateResult> {
  const sampling = seed === undefined ? { temperature: 0 } : { temperature: 1.2, seed };
  const tokens = model.createSession().generate(prompt, { sampling, maxTokens: 40 });
  for (;;) {
    const next = await tokens.next();
    if (next.done) return next.value;
  }
}

describe("the shadow of a model", () => {
  const models = modelFolder();
  afterAll(() => models.remove());
  const path = models.make({ context: 100, layers: 6, width: 128, feedForward: 384 });

  it.each(["f32", "q8"] as const)("guesses what %s weights then say, to the token", async (dtype) => {
    const folder = await models.unpack(path, { dtype });
    const plain = await Model.open(folder, { drafts: [] });
    const { ringBytes, streamedBytes } = plain.memory();
    // Room for the copy of four bits, and for little else.
    const ram = ringBytes + Math.ceil(streamedBytes * (dtype === "f32" ? 0.25 : 0.7));
    const said: [number, number][] = [];
    const model = await Model.open(folder, {
      drafts: ["shadow"],
      ram,
      onShadow: (done, total) => said.push([done, total]),
    });
    expect(model.shadow).toBe("q4");
    expect(model.memory().streamedBytes).toBeGreaterThan(0);
    expect(said[said.length - 1][0]).toBe(said[0][1]);
    for (const seed of [undefined, 11]) {
      const guessed = await finish(model, seed);
      const { ids, text, stop } = await finish(plain, seed);
      expect(guessed).toMatchObject({ ids, text, stop });
      expect(guessed.drafts[0].proposed).toBeGreaterThan(0);
    }
    await model.close();
    // The second time it is there.
    const again = await Model.open(folder, { drafts: ["shadow"], ram, onShadow: () => said.push([0, 0]) });
    expect(said[said.length - 1]).not.toEqual([0, 0]);
    expect((await finish(again)).ids).toEqual((await finish(plain)).ids);
    await again.close();
    await plain.close();
  });

  it("is made again where its file is cut short, and goes with its cache", async () => {
    const folder = await models.unpack(path, { dtype: "f16" });
    const { ringBytes, streamedBytes } = await memoryOf(folder);
    const options = { drafts: ["shadow"] as const, ram: ringBytes + Math.ceil(streamedBytes / 2) };
    await (await Model.open(folder, options)).close();
    const file = join(folder, `shadow-${SHADOW_DTYPES[0]}.bin`);
    truncateSync(file, 5000);
    writeFileSync(`${file}.partial`, "left by a process that was killed");
    const model = await Model.open(folder, options);
    expect((await finish(model)).drafts[0].proposed).toBeGreaterThan(0);
    await model.close();
    expect(readdirSync(folder).filter((name) => name.startsWith("shadow"))).toEqual(["shadow-q4.bin"]);
    expect(listCaches(join(models.folder, "cache")).find((entry) => entry.folder === folder)?.state).toBe(
      "finished",
    );
    removeCache(folder);
    expect(existsSync(folder)).toBe(false);
  });

  it("is refused with the sums where the budget has no room for it, and needless where all fits", async () => {
    const folder = await models.unpack(path, { dtype: "q8" });
    await expect(Model.open(folder, { drafts: ["shadow"] })).rejects.toThrow(/without a budget/);
    const { ringBytes } = await memoryOf(folder);
    await expect(Model.open(folder, { drafts: ["shadow"], ram: ringBytes + 1000 })).rejects.toThrow(
      /no room/,
    );
    const model = await Model.open(folder, { drafts: ["shadow"], ram: "auto" });
    expect(model.shadow).toBeUndefined();
    expect((await finish(model)).drafts).toEqual([]);
    await model.close();
  });

  it("leaves nothing half made when it is stopped", async () => {
    const folder = await models.unpack(path, { dtype: "f32" });
    for (const name of readdirSync(folder)) if (name.startsWith("shadow")) removeFile(folder, name);
    const { ringBytes, streamedBytes } = await memoryOf(folder);
    const stop = new AbortController();
    const opening = Model.open(folder, {
      drafts: ["shadow"],
      ram: ringBytes + Math.ceil(streamedBytes * 0.3),
      threads: 1,
      signal: stop.signal,
      onShadow: () => stop.abort(),
    });
    await expect(opening).rejects.toThrow(expect.objectContaining({ code: "aborted" }));
    expect(readdirSync(folder).filter((name) => name.startsWith("shadow"))).toEqual([]);
  });
});

async function memoryOf(folder: string) {
  const model = await Model.open(folder, { drafts: [] });
  const { ringBytes, streamedBytes } = model.memory();
  await model.close();
  return { ringBytes, streamedBytes };
}

function removeFile(folder: string, name: string): void {
  rmSync(join(folder, name));
}
