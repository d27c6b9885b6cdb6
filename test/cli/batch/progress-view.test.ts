import { describe, expect, it } from "vitest";
import { progressTexts, summaryText } from "../../../src/cli/batch/progress-view.ts";

const summary = {
  ...{ answers: 20, errors: 1, sweeps: 50, rows: 1600, promptRows: 900, generated: 700 },
  ...{ reused: 400, recalled: 0, parallel: 16, restarts: 0, ms: 100_000 },
};
const progress = { ...summary, running: 16, prefilling: 2, layer: 12, layers: 36 };

describe("the line of a batch", () => {
  it("tells prompts, speed and time left, and less where there is less room", () => {
    expect(progressTexts(progress, { done: 25, total: 100 }, 7)).toEqual([
      "█████░░░░░░░░░░░░░░░ 25% · 25 of 100 · 16 at work (2 at their prompt), 59 waiting · 7.0 tokens/s · 4:00 left",
      "█████░░░░░░░░░░░░░░░ 25% · 25 of 100 · 16 at work · 7.0 tokens/s · 4:00 left",
      "25 of 100 · 16 at work · 7.0 tokens/s · 4:00 left",
      "25 of 100 · 7.0 tokens/s · 4:00 left",
      "25 of 100",
    ]);
  });

  it("foretells nothing before there is an answer, or while prompts come from a pipe", () => {
    const first = { ...progress, answers: 0, prefilling: 0 };
    expect(progressTexts(first, { done: 0, total: 100 }, 0)[1]).toBe(
      "░░░░░░░░░░░░░░░░░░░░ 0% · 0 of 100 · 16 at work · layer 12/36",
    );
    expect(progressTexts(progress, { done: 3, total: undefined }, 7)[0]).toBe(
      "3 done · 16 at work (2 at their prompt) · 7.0 tokens/s",
    );
  });

  it("sums up", () => {
    expect(summaryText(summary, 1)).toBe(
      "sluice: 20 answers and 1 error in 1:40; 700 tokens, 7.0 per second; " +
        "50 sweeps of 32.0 rows, 14.0 new tokens each; up to 16 sequences at a time; " +
        "400 tokens of prompts computed only once",
    );
    const none = { ...summary, answers: 0, sweeps: 0, generated: 0, reused: 0, ms: 0 };
    expect(summaryText(none, 2)).toBe("sluice: 0 answers and 2 errors in 0 s");
    expect(summaryText({ ...summary, restarts: 1, reused: 0 }, 0)).toContain(
      "1 sequence computed again for want of memory",
    );
  });
});
