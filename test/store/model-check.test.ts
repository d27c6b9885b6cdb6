import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Model } from "../../src/engine/model.ts";
import { SluiceError } from "../../src/errors.ts";
import { readManifest, writeManifest } from "../../src/store/manifest.ts";
import type { Manifest } from "../../src/store/types.ts";
import { modelFolder } from "../engine/model-fixture.ts";

describe("a manifest whose model is not that of its tensors", () => {
  const models = modelFolder();
  afterAll(() => models.remove());
  const path = models.make({ layers: 2 });

  it.each<[string, (model: Manifest["model"]) => object]>([
    ["width", (model) => ({ width: model.width * 2 })],
    ["vocabulary", (model) => ({ vocabulary: model.vocabulary + 4 })],
    ["heads", (model) => ({ layers: [{ ...model.layers[0], heads: 0 }, model.layers[1]] })],
    ["kvHeads", (model) => ({ layers: [{ ...model.layers[0], kvHeads: 4 }, model.layers[1]] })],
    ["feedForward", (model) => ({ layers: [model.layers[0], { ...model.layers[1], feedForward: 64 }] })],
    ["normEpsilon", () => ({ normEpsilon: Number.NaN })],
    ["rope", (model) => ({ rope: { ...model.rope, dimensions: 7 } })],
    ["tiedOutput", () => ({ tiedOutput: false })],
    ["window", (model) => ({ layers: [{ ...model.layers[0], window: 0 }, model.layers[1]] })],
    ["localRope", (model) => ({ localRope: { ...model.rope, base: -1 } })],
    ["longFactors", (model) => ({ rope: { ...model.rope, longFactors: [1] } })],
    ["norm", () => ({ norm: "batch" })],
    ["temperature", () => ({ temperature: { scale: 1 } })],
    ["logitCap", () => ({ logitCap: Number.POSITIVE_INFINITY })],
    ["architecture", () => ({ architecture: "nope" })],
  ])("is refused: %s", async (_, change) => {
    const folder = await models.unpack(path);
    const manifest = readManifest(folder);
    writeManifest(folder, { ...manifest, model: { ...manifest.model, ...change(manifest.model) } });
    expect(() => readManifest(folder)).toThrow(expect.objectContaining({ code: "bad-cache" }));
    writeManifest(folder, manifest);
    expect(readManifest(folder)).toEqual(manifest);
  });

  it("is refused where norms of heads are said to be of another kind", async () => {
    const folder = await models.unpack(models.make({ arch: "qwen3", layers: 1 }));
    const manifest = readManifest(folder);
    writeManifest(folder, { ...manifest, model: { ...manifest.model, headNorm: "each" } });
    expect(() => readManifest(folder)).toThrow("norms of heads");
  });

  it("opens, or is refused, whatever byte of it is flipped", async () => {
    const folder = await models.unpack(path);
    const file = join(folder, "manifest.msgpack");
    const sound = readFileSync(file);
    for (let at = 0; at < sound.length; at += 37) {
      const broken = Buffer.from(sound);
      broken[at] ^= 1 << (at % 8);
      writeFileSync(file, broken);
      try {
        const model = await Model.open(folder, { threads: 1, contextLength: 64 });
        for await (const { id } of model.createSession().generate([1, 2], { maxTokens: 1 }))
          expect(id).toBeTypeOf("number");
        await model.close();
      } catch (error) {
        expect(error).toBeInstanceOf(SluiceError);
      }
    }
    writeFileSync(file, sound);
  });
});
