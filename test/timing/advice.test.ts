import { describe, expect, it } from "vitest";
import { advise, verdictSentence } from "../../src/timing/advice.ts";
import { comparison } from "../../src/timing/comparison.ts";
import { condense } from "../../src/timing/condense.ts";
import { speedOf } from "../../src/timing/facts.ts";
import { handoverSentence } from "../../src/timing/handover.ts";
import { keyFigures, reportLabels } from "../../src/timing/report-summary.ts";
import { sampleRecording } from "./sample-recording.ts";

const f32 = condense(sampleRecording({ unpack: false }));
const q8 = condense(sampleRecording({ dtype: "q8", unpack: false }));

describe("advice", () => {
  it("of a run that waits for the disk: memory, fewer bytes, a faster disk, each with what it brings", () => {
    expect(f32.verdict?.bound).toBe("disk");
    expect(verdictSentence(f32)).toMatch(
      /^The disk sets the speed\. A token takes 5\.\d+ s, and 4\.\d+ s \(9\d %\) of that .* % of the 2\.73 GB\/s/,
    );
    const [memory, q8Advice, f16Advice, disk, ...more] = advise(f32);
    expect(memory.effect).toMatch(/^8\.20 GB more would save 3\.\d+ s a token: 3\.0 times as fast\.$/);
    // A quarter of the bytes and a scale for 32: 4 / (34 / 32).
    expect(q8Advice.effect).toMatch(
      /^3\.27 GB .* in place of 12\.3 GB would save 3\.\d+ s of waiting: 3\.8 times as fast\.$/,
    );
    expect(f16Advice.effect).toMatch(/: 2\.0 times as fast/);
    expect(disk.effect).toMatch(
      /twice the speed would make it 2\.0 times as fast; at 1\d\.\d times as fast there is no more waiting/,
    );
    expect(more).toEqual([]);
  });

  it("does not promise more from a disk than the arithmetic allows", () => {
    const slow = condense(sampleRecording({ dtype: "q8", unpack: false, computeMsPerMegabyte: 0.28 }));
    expect(slow.verdict?.bound).toBe("disk");
    const disk = advise(slow).at(-1)!;
    expect(disk.what).toBe("A faster disk");
    expect(disk.effect).toMatch(/would make it (1\.\d) times as fast; at \1 times/);
  });

  it("of a run that computes all the time: not memory, nor a disk", () => {
    const computing = condense(sampleRecording({ unpack: false, computeMsPerMegabyte: 0.5 }));
    expect(computing.verdict?.bound).toBe("compute");
    expect(verdictSentence(computing)).toMatch(/^The arithmetic sets the speed\. .* from disk, keeps up\.$/);
    expect(advise(computing).map(({ what }) => what)).toEqual([
      "Another dtype (--dtype q8 or f16)",
      "A faster disk or more --ram",
    ]);
    expect(advise(computing).at(-1)?.effect).toBe("would change nothing.");
  });

  it("promises nothing of fewer bytes where nobody waits for them", () => {
    const { machine, ...computing } = condense(sampleRecording({ unpack: false, computeMsPerMegabyte: 0.5 }));
    const { disk: _, arithmetic: __, ...tiny } = machine;
    expect(advise({ ...computing, machine: tiny }).map(({ what }) => what)).toEqual([
      "A faster disk or more --ram",
    ]);
    // Half of the time is waiting: with q8, a quarter of the bytes, all of that goes, and nothing else.
    const half = condense(sampleRecording({ unpack: false, computeMsPerMegabyte: 0.19 }));
    const speed = speedOf(half, "decode")!;
    const q8 = advise(half).find(({ what }) => what.includes("q8"))!;
    expect(q8.effect).toContain(`: ${(speed.ms / (speed.ms - speed.waitMs)).toFixed(1)} times as fast.`);
  });

  it("says through what it was read", () => {
    const { model, machine, ...rest } = f32;
    const buffered = { ...rest, machine, model: { ...model!, direct: false } };
    const names = (recording: typeof f32) => keyFigures(recording).map(({ name }) => name);
    expect(names(f32)).toContain("Read from disk");
    expect(names(buffered)).toContain("Read through the page cache");
    const cached = {
      ...buffered,
      machine: { ...machine, disk: 1e9 },
      verdict: { bound: "page cache" as const, text: "" },
    };
    expect(keyFigures(cached).find(({ name }) => name.startsWith("Read"))?.note).toBe(
      "the disk alone: 1.00 GB/s, as measured",
    );
    expect(verdictSentence(cached)).toMatch(/^Reading sets the speed, .* faster than the disk can read/);
  });

  it("tells what of the prompt's time was starting the threads", () => {
    const sweep = { ms: 300, handoverMs: 240 };
    expect(handoverSentence([sweep])).toMatch(
      /^Of the 300 ms that the prompt took, 240 ms \(80 %\) went into hand-over/,
    );
    expect(handoverSentence([sweep, { ms: 9000, handoverMs: 1 }])).toBeUndefined();
    expect(handoverSentence([])).toBeUndefined();
  });

  it("of runs without generation", () => {
    const prompt = condense(sampleRecording({ decode: 0, unpack: false }));
    expect(verdictSentence(prompt)).toMatch(/^Only a prompt was computed: 64 tokens in /);
    const unpack = condense(sampleRecording({ decode: 0, prefill: false }));
    expect(verdictSentence(unpack)).toMatch(/^Only unpacking was recorded: 38 files, .* was writing \(/);
    const nothing = condense(sampleRecording({ decode: 0, prefill: false, unpack: false }));
    expect(verdictSentence(nothing)).toMatch(/nothing to judge/);
    for (const recording of [prompt, unpack, nothing]) expect(advise(recording)).toEqual([]);
  });
});

describe("comparison", () => {
  it("says how much faster, and what of", () => {
    const labels = reportLabels([f32, q8]);
    expect(labels).toEqual(["A (f32)", "B (q8)"]);
    expect(comparison([f32, q8], labels)).toMatch(
      /^B \(q8\) is 3\.\d+ times as fast as A \(f32\): .* reads 3\.27 GB against 12\.3 GB/,
    );
    expect(comparison([q8, f32], reportLabels([q8, f32]))).toMatch(/^B \(f32\) is slower than A \(q8\)/);
    expect(comparison([q8, q8], reportLabels([q8, q8]))).toMatch(/^B is as fast as A/);
    expect(comparison([q8, condense(sampleRecording({ decode: 0, prefill: false }))], ["A", "B"])).toMatch(
      /no sweeps of the same kind/,
    );
  });
});
