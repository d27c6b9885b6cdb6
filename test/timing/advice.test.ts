import { describe, expect, it } from "vitest";
import { advise, verdictSentence } from "../../src/timing/advice.ts";
import { comparison } from "../../src/timing/comparison.ts";
import { condense } from "../../src/timing/condense.ts";
import { speedOf } from "../../src/timing/facts.ts";
import { handoverSentence } from "../../src/timing/handover.ts";
import { longestWork } from "../../src/timing/longest-work.ts";
import { keyFigures, reportLabels } from "../../src/timing/report-summary.ts";
import { sampleRecording } from "./sample-recording.ts";

const f32 = condense(sampleRecording({ unpack: false }));
const q8 = condense(sampleRecording({ dtype: "q8", unpack: false }));

describe("advice", () => {
  it("of a run that waits for the disk: memory, fewer bytes, a faster disk, each with what it brings", () => {
    expect(f32.verdict?.bound).toBe("disk");
    expect(verdictSentence(f32)).toMatch(
      /^The disk sets the speed of generation\. A token takes 5\.\d+ s, and 4\.\d+ s \(9\d %\) of that .* % of the 2\.73 GB\/s/,
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
    expect(verdictSentence(computing)).toMatch(
      /^The arithmetic sets the speed of generation\. .*: reading, at 2\.\d+ GB\/s from disk, keeps up with the 1\.\d+ GB\/s that/,
    );
    expect(advise(computing).map(({ what }) => what)).toEqual([
      "Another dtype (--dtype q8 or f16)",
      "A faster disk or more --ram",
    ]);
    expect(advise(computing).at(-1)).toMatchObject({ effect: "would change nothing.", vain: true });
    const q8 = condense(sampleRecording({ dtype: "q8", unpack: false, computeMsPerMegabyte: 0.5 }));
    expect(advise(q8).map(({ what }) => what)).toEqual([
      "Node.js 24 (this was v20.20.2)",
      "A faster disk or more --ram",
    ]);
    expect(advise({ ...q8, machine: { ...q8.machine, node: "v24.1.0" } })).toHaveLength(1);
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
    expect(verdictSentence(cached)).toMatch(
      /^Reading sets the speed of generation, .* faster than the disk can read/,
    );
  });

  it("names the speed of reading while reading, where reading keeps up", () => {
    const computing = condense(sampleRecording({ unpack: false, computeMsPerMegabyte: 0.5 }));
    const figure = keyFigures(computing).find(({ name }) => name === "Read from disk")!;
    const { readPerSecond, bytesPerSecond } = speedOf(computing, "decode")!;
    expect(readPerSecond).toBeGreaterThan(1.2 * bytesPerSecond);
    expect(figure.raw).toBe(readPerSecond);
    expect(figure.note).toMatch(/^while something is read; the arithmetic consumes 1\.\d+ GB\/s of it$/);
  });

  it("says first what took longest, where that is not generation", () => {
    expect(longestWork(f32)).toBeUndefined();
    const short = condense(sampleRecording({ decode: 1, unpack: false, computeMsPerMegabyte: 0.5 }));
    expect(longestWork(short)).toMatch(
      /^The largest part of the work was computing the prompt: [\d.]+ s of [\d.]+ s \(\d\d %\); generating took [\d.]+ s\.$/,
    );
    expect(longestWork({ ...short, command: "bench" })).toBeUndefined();
  });

  it("tells what of the first sweep's time was starting the threads", () => {
    const cold = { ms: 300, threadStartMs: 240 };
    const said = /^Of the 300 ms that the first sweep took, 240 ms \(80 %\) went into hand-over/;
    expect(handoverSentence([cold])).toMatch(said);
    expect(handoverSentence([cold, { ms: 9000 }, { ms: 9000 }])).toMatch(said);
    // A later prompt, for which the threads are there.
    expect(handoverSentence([{ ms: 300 }])).toBeUndefined();
    expect(handoverSentence([{ ms: 300, threadStartMs: 2 }])).toBeUndefined();
    expect(handoverSentence([])).toBeUndefined();
  });

  it("of runs without generation", () => {
    const prompt = condense(sampleRecording({ decode: 0, unpack: false }));
    expect(verdictSentence(prompt)).toMatch(/^Only a prompt was computed: 64 tokens in /);
    const unpack = condense(sampleRecording({ decode: 0, prefill: false }));
    expect(verdictSentence(unpack)).toMatch(/^Only unpacking was recorded: 38 files, .* was writing \(/);
    // Beyond the files: preparing and finishing.
    const { files } = unpack.unpack!;
    const filesMs = files.reduce((total, { ms }) => total + ms, 0);
    const spans = [{ name: "unpack" as const, startMs: 0, ms: filesMs + 1e6 + 2e6 }];
    const slow = { ...unpack, spans, unpack: { files, prepareMs: 1e6, finishMs: 2e6 } };
    expect(verdictSentence(slow)).toMatch(
      / was finishing \(33 min 20 s\), then preparing \(16 min 40 s\)\.$/,
    );
    expect(keyFigures(slow)[0]).toMatchObject({ name: "Unpacking", raw: filesMs / 1000 + 3000 });
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
      /^B \(q8\) is 3\.\d+ times as fast as A \(f32\): [\d.]+ tokens\/s against [\d.]+\. In B .* reads 3\.27 GB against 12\.3 GB/,
    );
    expect(comparison([q8, f32], reportLabels([q8, f32]))).toMatch(
      /^A \(q8\) is 3\.\d+ times as fast as B \(f32\): [\d.]+ tokens\/s against [\d.]+\. In B .* reads 12\.3 GB .* is 162 MB against 162 MB\.$/,
    );
    const uneven = q8.sweeps.map((sweep) => ({
      ...sweep,
      ms: sweep.ms * 1.5,
      layers: sweep.layers.map((layer, index) =>
        index < 10 ? { ...layer, computeMs: 9 * layer.computeMs } : layer,
      ),
    }));
    expect(comparison([q8, { ...q8, sweeps: uneven }], ["A", "B"])).toMatch(
      /^A is 1\.50 times as fast as B: .* Not all layers differ alike: 10 of 36 took longer, 0 less: /,
    );
    expect(comparison([q8, q8], reportLabels([q8, q8]))).toMatch(/^B is as fast as A/);
    expect(comparison([q8, condense(sampleRecording({ decode: 0, prefill: false }))], ["A", "B"])).toMatch(
      /nothing in common/,
    );
  });
});
