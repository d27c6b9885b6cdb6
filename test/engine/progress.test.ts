import { afterAll, expect, it } from "vitest";
import type { SweepPosition } from "../../src/stream/stream-progress.ts";
import { sumStages, sumTimings } from "../../src/timing/statistics.ts";
import { modelFolder } from "./model-fixture.ts";

const models = modelFolder();
afterAll(() => models.remove());

it.each([0, 1])(
  "tells of a model at work where its threads are (with %i of weights in memory)",
  async (share) => {
    const path = models.make({ context: 400 });
    const model = await models.open(path, share > 0 ? { ram: "auto" } : {});
    const { stages } = model.progress;
    expect(stages).toHaveLength(model.manifest.model.layers.length + 1);
    const { residentBytes, streamedBytes } = model.memory();
    const sum = (field: "bytes" | "residentBytes") => stages.reduce((all, stage) => all + stage[field], 0);
    expect([sum("bytes"), sum("residentBytes")]).toEqual([residentBytes + streamedBytes, residentBytes]);

    const prompt = Array.from({ length: 300 }, (_, i) => (i * 37) % 250);
    const seen: SweepPosition[] = [];
    const tokens = model.createSession().generate(prompt, { maxTokens: 5 });
    let next = await tokens.next();
    for (; !next.done; next = await tokens.next()) seen.push(model.progress.position());
    for (const { brought, computed, stages: all, waiting } of seen)
      expect({ brought, computed, all, waiting }).toEqual({
        ...{ brought: stages.length, computed: stages.length, all: stages.length, waiting: false },
      });

    // All that the sweeps have read, and the layers of the next one, which the reader goes on with.
    const { embedding: _, layers, output } = sumStages([...next.value.prefill, ...next.value.decode]);
    const { bytes } = sumTimings([...layers, output]);
    const ahead = share > 0 ? 0 : sum("bytes") - stages[stages.length - 1].bytes;
    await expect.poll(() => model.progress.position().ahead).toBe(stages.length - 1);
    expect(model.progress.position().bytesRead).toBe(bytes + ahead);
    await model.close();
  },
);
