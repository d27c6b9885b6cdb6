import { expect, test } from "vitest";
import { stagingBytes } from "../../src/stream/part-cursor.ts";
import { planResidence, residentBytes } from "../../src/stream/residence.ts";
import { BATCH_CHUNKS } from "../../src/stream/ring.ts";
import type { ChunkRead, Part, SweepPlan } from "../../src/stream/sweep-plan.ts";

const BYTES = 1 << 20;

function planOf(files: readonly number[], bytes = BYTES): SweepPlan {
  const chunks = files.flatMap((count, file) =>
    Array.from({ length: count }, (_, index): ChunkRead => {
      return { file, offset: index * bytes, stored: bytes, bytes, stage: file, parts: [] };
    }),
  );
  return { paths: files.map(String), chunks, layerChunks: chunks.length, slotBytes: bytes };
}

/** Lengths of the runs of neighbours that are alike: positive for those that stay, negative for those that stream. */
function runs(homes: Int8Array): number[] {
  const found: number[] = [];
  for (const [index, home] of homes.entries()) {
    const sign = home >= 0 ? 1 : -1;
    if (index > 0 && Math.sign(found[found.length - 1]) === sign) found[found.length - 1] += sign;
    else found.push(sign);
  }
  return found;
}

const nowhere = () => undefined;

test("what streams lies in runs that one read brings, spread over the sweep", () => {
  const plan = planOf([BATCH_CHUNKS * 20]);
  const { homes } = planResidence(plan, BATCH_CHUNKS * 10 * BYTES, nowhere);
  expect(runs(homes).map(Math.abs)).toEqual(Array(20).fill(BATCH_CHUNKS));
});

test("no run is one read that would have to go on in another file", () => {
  const plan = planOf([BATCH_CHUNKS + 1, BATCH_CHUNKS + 1, BATCH_CHUNKS + 1, BATCH_CHUNKS + 1]);
  const { homes } = planResidence(plan, ((4 * (BATCH_CHUNKS + 1)) / 2) * BYTES, nowhere);
  for (const length of runs(homes)) expect(Math.abs(length)).toBeGreaterThan(0);
  expect(homes.filter((home) => home >= 0)).toHaveLength(2 * (BATCH_CHUNKS + 1));
});

test.each([0, 1, 3, 7, 19, 40, 83, 100, 200])(
  "all of a budget of %i chunks is used, and no more",
  (count) => {
    const plan = planOf([34, 33, 33]);
    const residence = planResidence(plan, count * BYTES + BYTES / 2, nowhere);
    const { resident, streamed } = residentBytes(plan, residence);
    expect(resident).toBe(Math.min(100, count) * BYTES);
    expect(streamed).toBe(100 * BYTES - resident);
  },
);

test("threads have room for the most that one of them asks for: whole groups of panels", () => {
  const part = (panels: number, panelGroup: number, panelBytes: number): Part => ({
    ...{ role: "attn_q", dtype: "q8", columns: 32, firstPanel: 0, tensorPanels: panels, offset: 0 },
    ...{ panels, panelGroup, panelBytes },
  });
  const chunk = (...parts: Part[]): ChunkRead => ({ ...planOf([1]).chunks[0], parts });
  expect(stagingBytes({ chunks: [chunk(part(1, 1, 500)), chunk(part(7, 1, 100))] }, 2)).toBe(500);
  expect(stagingBytes({ chunks: [chunk(part(7, 1, 100))] }, 2)).toBe(400);
  expect(stagingBytes({ chunks: [chunk(part(6, 2, 100))] }, 2)).toBe(400);
  expect(stagingBytes({ chunks: [chunk(part(6, 2, 100))] }, 8)).toBe(200);
});
