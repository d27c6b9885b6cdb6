import { expect, it } from "vitest";
import { Watched, type WatchSubject } from "../../src/cli/watch-state.ts";
import type { GenerateProgress } from "../../src/engine/types.ts";
import type { SweepPosition } from "../../src/stream/stream-progress.ts";

const subject: WatchSubject = {
  title: "model",
  stages: [{ bytes: 10, residentBytes: 0 }],
  promptTokens: 300,
  tokenLimit: 100,
  contextLength: 1000,
  weightBytes: 20e6,
  overheadBytes: 200e6,
  source: "disk",
  diskSpeed: 3e9,
};
const position = (changes: Partial<SweepPosition> = {}): SweepPosition => ({
  ...{ stages: 10, brought: 5, computed: 4, ahead: 0, waiting: false, bytesRead: 0 },
  ...changes,
});
const sample = (now: number, changes: Partial<SweepPosition> = {}) => ({
  ...{ now, position: position(changes), rssBytes: 150e6, kvBytes: 5e6, contextTokens: 40 },
});
const progress = (changes: Partial<GenerateProgress>): GenerateProgress => ({
  ...{ phase: "prefill", layer: 4, layers: 9, rowsDone: 0, rowsInSweep: 256, rowsTotal: 300 },
  ...changes,
});

it("takes rates over the last seconds, and remembers the highest", () => {
  const watched = new Watched(subject, 0);
  expect(() => watched.state()).toThrow(RangeError);
  watched.look(sample(0));
  expect(watched.state()).toMatchObject({ readRate: 0, waiting: 0, secondsLeft: undefined });
  for (let now = 100; now <= 10_000; now += 100) {
    const bytesRead = now <= 5000 ? now * 2e6 : 1e10 + (now - 5000) * 1e6;
    watched.look(sample(now, { bytesRead, waiting: now > 5000 && now % 400 === 0 }));
  }
  const { readRate, highestRate, waiting, seconds } = watched.state();
  expect([readRate, highestRate]).toEqual([1e9, 2e9]);
  expect(waiting).toBeCloseTo(0.25, 1);
  expect(seconds).toBe(10);
});

it("tells how far the prompt is, and how long it will take", () => {
  const watched = new Watched(subject, 0);
  watched.onProgress(progress({}));
  watched.look(sample(2000, { computed: 5 }));
  expect(watched.state()).toMatchObject({ phase: "prompt", promptDone: 128, tokens: 0 });
  expect(watched.state().secondsLeft).toBeCloseTo((2 * 172) / 128);
  watched.onProgress(progress({ rowsDone: 256, rowsInSweep: 44 }));
  watched.look(sample(4000, { computed: 0 }));
  expect(watched.state().promptDone).toBe(256);
});

it("counts tokens, and takes their time from the last ones", () => {
  const watched = new Watched(subject, 0);
  watched.onToken("One", 5000);
  watched.look(sample(5000));
  expect(watched.state()).toMatchObject({ phase: "answer", promptDone: 300, secondsPerToken: undefined });
  for (let token = 0; token < 10; token++) watched.onToken(" and", 6000 + token * 1000);
  for (let token = 1; token <= 8; token++) watched.onToken(" more", 15_000 + token * 500);
  watched.look(sample(19_000));
  expect(watched.state()).toMatchObject({
    ...{ tokens: 19, lastToken: " more", secondsPerToken: 0.5, secondsLeft: 81 * 0.5 },
    text: `One${" and".repeat(10)}${" more".repeat(8)}`,
  });
});

it("does not guess when an answer without a limit will end", () => {
  const watched = new Watched({ ...subject, tokenLimit: Infinity }, 0);
  watched.onToken("One", 1000);
  watched.onToken(" two", 2000);
  watched.look(sample(2000));
  expect(watched.state()).toMatchObject({ secondsPerToken: 1, secondsLeft: undefined });
});
