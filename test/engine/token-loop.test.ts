import { spawnSync } from "node:child_process";
import { afterAll, describe, expect, it } from "vitest";
import { modelFolder } from "./model-fixture.ts";

/**
 * Bytes of JavaScript objects that a token may leave behind for the collector, beside its logits: rows, promises, the
 * message that a sweep is done, and the times of every layer, which the result keeps.
 */
const BYTES_PER_TOKEN = 24_000;

describe("the token loop", () => {
  const models = modelFolder();
  afterAll(() => models.remove());

  it("allocates logits and times, and no memory that stays", async () => {
    const folder = await models.unpack(models.make());
    const script = `
      import { Model } from "./dist/engine/model.js";
      const model = await Model.open(${JSON.stringify(folder)}, { threads: 2 });
      // More than 64 positions ahead, so that no block of KV cache is taken in between.
      const session = model.createSession();
      const tokens = session.generate([1, 2, 3], { sampling: { temperature: 0 }, maxTokens: 320 });
      let count = 0;
      const step = async (upTo) => { while (count < upTo && !(await tokens.next()).done) count++; };
      const measure = () => { gc(); const { heapUsed, arrayBuffers, rss } = process.memoryUsage(); return { heapUsed, arrayBuffers, rss }; };
      await step(100);
      const before = measure();
      await step(105);
      // Nothing is collected between these two.
      const { heapUsed: low } = process.memoryUsage();
      await step(205);
      const { heapUsed: high } = process.memoryUsage();
      await step(300);
      const after = measure();
      await tokens.return();
      await model.close();
      console.log(JSON.stringify({ count, before, after, perToken: (high - low) / 100 }));`;
    const flags = ["--expose-gc", "--input-type=module", "-e", script];
    const run = spawnSync(process.execPath, flags, { encoding: "utf8" });
    expect(run.stderr).toBe("");
    const { count, before, after, perToken } = JSON.parse(run.stdout);
    expect(count).toBe(300);
    expect(perToken).toBeLessThan(BYTES_PER_TOKEN);
    // What stays are the times of 200 sweeps of four layers, and the ids.
    expect((after.heapUsed - before.heapUsed) / 200).toBeLessThan(2_500);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(100_000);
    expect(after.rss - before.rss).toBeLessThan(8e6);
  });
});
