import { describe, expect, it } from "vitest";
import { Pace } from "../../../src/engine/draft/pace.ts";
import { MAXIMUM_DRAFT } from "../../../src/engine/draft/types.ts";
import { createRandom } from "../../../src/engine/random.ts";

/** Milliseconds of a sweep of so many rows, and of guessing a token. */
interface Machine {
  readonly sweep: (rows: number) => number;
  readonly guess: number;
}

const streaming: Machine = { sweep: (rows) => 500 * (1 + 0.008 * (rows - 1)), guess: 0 };
const shadow: Machine = { ...streaming, guess: 60 };
const inMemory: Machine = { sweep: (rows) => 100 * (1 + 0.4 * (rows - 1)), guess: 0 };

/** Generate so many tokens. @returns how many times as fast as without guesses, and the counts of guessed tokens */
function run(machine: Machine, acceptance: (token: number) => number, tokens: number, pace = new Pace()) {
  const random = createRandom(5);
  const chosen: number[] = [];
  let [done, ms] = [0, 0];
  while (done < tokens) {
    const count = pace.choose("draft", 100);
    chosen.push(count);
    let held = 0;
    while (held < count && random() < acceptance(done)) held++;
    const noise = 0.9 + 0.2 * random();
    const sweepMs = machine.sweep(count + 1) * noise;
    const guessMs = machine.guess * count;
    const looked = Math.min(held + 1, count);
    pace.learn({ ms: sweepMs, rows: count + 1, ...(count > 0 && { by: "draft", guessMs, held, looked }) });
    done += held + 1;
    ms += sweepMs + guessMs;
  }
  return { gain: (done * machine.sweep(1)) / ms, chosen };
}

describe("the pace of guessing", () => {
  it.each([
    ["streaming", streaming],
    ["with a shadow", shadow],
    ["in memory", inMemory],
  ])("loses at most 3 %% where no guess holds, %s", (_, machine) => {
    expect(run(machine, () => 0, 400).gain).toBeGreaterThan(0.97);
  });

  it("guesses as much as it may where all holds, and never more", () => {
    const { gain, chosen } = run(streaming, () => 1, 2000);
    expect(Math.max(...chosen)).toBe(MAXIMUM_DRAFT);
    expect(chosen.slice(-20).every((count) => count === MAXIMUM_DRAFT)).toBe(true);
    expect(gain).toBeGreaterThan(12);
    const pace = new Pace();
    run(streaming, () => 1, 100, pace);
    expect(pace.choose("draft", 3)).toBe(3);
    expect(pace.choose("draft", 0)).toBe(0);
  });

  it("comes near to the best count for what guesses cost", () => {
    // By the law 0.85^k: with a guess of 60 ms and a sweep of 500 the best is 8 or so.
    const { chosen } = run(shadow, () => 0.85, 3000);
    const late = chosen.slice(-50);
    const mean = late.reduce((sum, count) => sum + count, 0) / late.length;
    expect(mean).toBeGreaterThan(4);
    expect(mean).toBeLessThan(12);
  });

  it("guesses little in memory, where rows cost arithmetic", () => {
    const { gain, chosen } = run(inMemory, () => 0.6, 1000);
    expect(gain).toBeGreaterThan(0.97);
    expect(Math.max(...chosen.slice(-100))).toBeLessThan(6);
  });

  it("notices when a text begins to repeat itself", () => {
    const { gain } = run(streaming, (token) => (token < 300 ? 0 : 1), 3000);
    expect(gain).toBeGreaterThan(3);
  });
});
