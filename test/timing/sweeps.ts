import type { StageTiming, SweepTiming } from "../../src/timing/types.ts";

export function stage(bytes: number, readMs: number, waitMs: number, computeMs: number): StageTiming {
  return { bytes, readMs, waitMs, computeMs };
}

/** A prefill of seven tokens in two batches (the first asks for no logits), then two decoded tokens; two layers. */
export const prefill: readonly SweepTiming[] = [
  {
    startMs: 100,
    handoverMs: 0.5,
    rows: 4,
    ms: 20,
    embedding: stage(4096, 0.5, 0.5, 0.1),
    layers: [stage(2_000_000, 2, 1, 6), stage(2_000_000, 2, 0, 8)],
    output: stage(0, 0, 0, 0),
  },
  {
    startMs: 120,
    handoverMs: 0.25,
    rows: 3,
    ms: 30,
    embedding: stage(4096, 0.5, 0.5, 0.1),
    layers: [stage(2_000_000, 3, 2, 5), stage(2_000_000, 3, 0, 7)],
    output: stage(1_000_000, 1, 0.25, 2),
  },
];

export const decode: readonly SweepTiming[] = [
  {
    startMs: 151,
    handoverMs: 0.1,
    rows: 1,
    ms: 8,
    embedding: stage(1024, 0.25, 0.25, 0.01),
    layers: [stage(2_000_000, 1, 0.5, 1.5), stage(2_000_000, 1, 0.25, 1.25)],
    output: stage(1_000_000, 0.5, 0, 1),
  },
  {
    startMs: 160,
    handoverMs: 0.2,
    rows: 1,
    ms: 12,
    embedding: stage(1024, 0.25, 0.25, 0.03),
    layers: [stage(2_000_000, 3, 1.5, 2.5), stage(2_000_000, 1, 0.75, 1.75)],
    output: stage(1_000_000, 1.5, 1, 2),
  },
];
