import { expect, it } from "vitest";
import { reportTimings } from "../../src/timing/report.ts";
import { decode, prefill } from "./sweeps.ts";

it("reports prefill and decode apart", () => {
  expect(reportTimings({ loadMs: 1.23456, prefill, decode })).toEqual({
    load_ms: 1.235,
    cache_n: 0,
    draft_n: 0,
    draft_n_accepted: 0,
    draft_ms: 0,
    prompt_n: 7,
    prompt_ms: 50,
    prompt_per_second: 140,
    predicted_n: 2,
    predicted_ms: 20,
    predicted_per_second: 100,
    layers: [
      { layer: 0, bytes: 4_000_000, read_ms: 4, wait_ms: 2, compute_ms: 4 },
      { layer: 1, bytes: 4_000_000, read_ms: 2, wait_ms: 1, compute_ms: 3 },
    ],
    prefill_layers: [
      { layer: 0, bytes: 4_000_000, read_ms: 5, wait_ms: 3, compute_ms: 11 },
      { layer: 1, bytes: 4_000_000, read_ms: 5, wait_ms: 0, compute_ms: 15 },
    ],
  });
});

it("holds only numbers that JSON can carry when nothing was decoded", () => {
  const report = reportTimings({ loadMs: 1, prefill: [], decode: [] });
  expect(JSON.parse(JSON.stringify(report))).toEqual(report);
  expect(report).toMatchObject({ prompt_per_second: 0, predicted_per_second: 0, layers: [] });
});
