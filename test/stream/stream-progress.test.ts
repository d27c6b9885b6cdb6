import { expect, it } from "vitest";
import type { Residence } from "../../src/stream/residence.ts";
import { StreamProgress } from "../../src/stream/stream-progress.ts";
import type { ChunkRead, SweepPlan } from "../../src/stream/sweep-plan.ts";

const MiB = 1 << 20;

/** Two layers of two chunks and an output of one; the second chunk of each layer may stay in memory. */
function create({ resident = false } = {}) {
  const chunk = (stage: number): ChunkRead => ({
    ...{ file: stage, offset: 0, stored: MiB, bytes: MiB, stage, parts: [] },
  });
  const chunks = [0, 0, 1, 1, 2].map(chunk);
  const plan: SweepPlan = { paths: [], chunks, layerChunks: 4, slotBytes: MiB };
  const residence: Residence = {
    homes: Int8Array.from(resident ? [-1, 0, -1, 0, -1] : [-1, -1, -1, -1, -1]),
    offsets: new Float64Array(5),
    buffers: [],
    loaded: new Uint8Array(new SharedArrayBuffer(5)),
  };
  const control = { produced: 0, consumed: 0 };
  return { control, residence, progress: new StreamProgress(plan, residence, control) };
}

it("tells where reader and arithmetic are, in stages", () => {
  const { control, progress } = create();
  expect(progress.position()).toMatchObject({ stages: 0, brought: 0, computed: 0, waiting: false });
  progress.begin(1);
  expect(progress.position()).toMatchObject({ stages: 3, brought: 0, computed: 0, waiting: true });
  Object.assign(control, { produced: 3, consumed: 1 });
  expect(progress.position()).toEqual({
    ...{ stages: 3, brought: 1.5, computed: 0.5, ahead: 0, waiting: false, bytesRead: 3 * MiB },
  });
  control.consumed = 3;
  expect(progress.position().waiting).toBe(true);
});

it("follows the reader into the next sweep, and sweeps without output", () => {
  const { control, progress } = create();
  progress.begin(0);
  Object.assign(control, { produced: 7, consumed: 4 });
  expect(progress.position()).toEqual({
    ...{ stages: 2, brought: 2, computed: 2, ahead: 1.5, waiting: false, bytesRead: 7 * MiB },
  });
  progress.begin(1);
  expect(progress.position()).toEqual({
    ...{ stages: 3, brought: 1.5, computed: 0, ahead: 0, waiting: false, bytesRead: 7 * MiB },
  });
  Object.assign(control, { produced: 9, consumed: 9 });
  expect(progress.position()).toMatchObject({ brought: 3, computed: 3, waiting: false, bytesRead: 9 * MiB });
});

it("counts what stays in memory once", () => {
  const { control, residence, progress } = create({ resident: true });
  expect(progress.stages).toEqual([
    { bytes: 2 * MiB, residentBytes: MiB },
    { bytes: 2 * MiB, residentBytes: MiB },
    { bytes: MiB, residentBytes: 0 },
  ]);
  residence.loaded.set([0, 1, 0, 1, 0]);
  for (let sweep = 0; sweep < 2; sweep++) {
    progress.begin(1);
    control.produced += 5;
    control.consumed += 5;
  }
  expect(progress.position().bytesRead).toBe(2 * 3 * MiB + 2 * MiB);
});

it("survives counters that wrap, and threads that begin anew", () => {
  const { control, progress } = create();
  const sweeps = 3;
  for (let sweep = 0; sweep < sweeps; sweep++) progress.begin(1);
  Object.assign(control, { produced: (sweeps - 1) * 5 + 2, consumed: (sweeps - 1) * 5 });
  const before = progress.position().bytesRead;
  progress.reset();
  Object.assign(control, { produced: 0, consumed: 0 });
  expect(progress.position().bytesRead).toBe(before);
  progress.begin(1);
  control.produced = 1;
  expect(progress.position()).toMatchObject({ brought: 0.5, bytesRead: before + MiB });
});
