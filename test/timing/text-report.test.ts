import { describe, expect, it } from "vitest";
import { sweepBreakdown } from "../../src/timing/breakdown.ts";
import { csvText } from "../../src/timing/csv.ts";
import { textComparison, textReport } from "../../src/timing/text-report.ts";
import { fullRecording, LAYERS, recorderOf } from "./a-recording.ts";

describe("a report as text", () => {
  it("shows spans, unpack, parts of a token, layers, the slowest of them and the verdict", () => {
    const lines = textReport(fullRecording());
    const text = lines.join("\n");
    expect(lines[0]).toMatch(/^run · A model, 4 layers, q8, 2 threads · sluice /);
    for (const line of [
      /^prefill +20\.00 +\d/m,
      /^decode +100\.00 +\d/m,
      /^sample +6\.00/m,
      /^unpack +ms +share$/m,
      /^decode of 5 tokens, per token +ms +share$/m,
      /^attention +8\.00 +38\.1 %$/m,
      /^feed-forward +4\.00/m,
      /^wait for layers +2\.00/m,
      /^hand-over +0\.50/m,
      /^total +21\.00$/m,
      /^decode, mean of 5 sweeps$/m,
      /^3 +0\.001 +0\.50 +0\.50 +2\.00 +1\.00 +3\.00 +2$/m,
      /^slowest layers \(median 3\.50 ms a token\): 0: 3\.50 ms \(1\.0 x\)/m,
      /^verdict: the disk sets the speed of generation/m,
      /^3 sweeps half-way through/m,
    ])
      expect(text).toMatch(line);
  });

  it("puts two side by side, with ratios, though one has what the other lacks", () => {
    const a = fullRecording();
    const b = recorderOf(2).recording();
    const slower = {
      ...b,
      sweeps: b.sweeps.map((sweep) => ({
        ...sweep,
        layers: sweep.layers.map((layer) => ({ ...layer, attentionMs: 4, computeMs: 5 })),
      })),
    };
    const text = textComparison(a, slower).join("\n");
    expect(text).toMatch(/^A: run · A model/m);
    expect(text).toMatch(/^B: run · A model/m);
    expect(text).toMatch(/^attention +8\.00 +16\.00 +2\.00$/m);
    expect(text).toMatch(/^2 +3\.50 +5\.50 +1\.57$/m);
    expect(text).toMatch(/^dequantize +0\.00 +- +-$/m);
    expect(text).toMatch(
      /^decode of 5 tokens, per token \| decode of 2 tokens, per token +A ms +B ms +B\/A$/m,
    );
  });

  it("does with a recording of nothing", () => {
    const { sweeps: _, model: __, verdict: ___, ...rest } = recorderOf(0).recording();
    const nothing = { ...rest, spans: [], sweeps: [], timelines: [] };
    expect(textReport(nothing).join("\n")).toMatch(/^other +[\d.]+ +100\.0 %$/m);
    expect(textComparison(nothing, nothing).length).toBeGreaterThan(4);
  });
});

it("keeps what came once out of what a token takes", () => {
  const recording = fullRecording();
  const sweeps = recording.sweeps.map((sweep, index) =>
    index === 0 ? { ...sweep, ms: 90, handoverMs: 70.5, threadStartMs: 70 } : sweep,
  );
  const lines = textReport({ ...recording, sweeps }).join("\n");
  // (90 - 70 + 1) / 7, and the hand-over of 0.5 among seven tokens.
  expect(lines).toMatch(
    /^hand-over +0\.07 .*\nsample .*\ntotal +3\.00\nonce: starting the threads +70\.00$/m,
  );
  expect(lines).toMatch(/^hand-over: Of the 90\.0 ms that the first sweep took, 70\.0 ms \(78 %\)/m);
  expect(textComparison(recording, { ...recording, sweeps }).join("\n")).toMatch(
    /^once: starting the threads +- +70\.00 +-$/m,
  );
});

it("breaks a token down into parts that are its time", () => {
  const { parts, ms } = sweepBreakdown(recorderOf(3).recording(), "decode")!;
  expect(parts.reduce((sum, [, part]) => sum + part, 0)).toBeCloseTo(20 + 1);
  expect(ms).toBeCloseTo(21);
});

describe("CSV", () => {
  it("has a line for each file, and for each stage of each sweep", () => {
    const recording = fullRecording();
    const [head, ...lines] = csvText(recording).trimEnd().split("\n");
    const columns = head.split(",");
    expect(lines).toHaveLength(2 + recording.sweeps.length * (LAYERS + 2));
    for (const line of lines) expect(line.split(",")).toHaveLength(columns.length);
    const cells = (line: string) =>
      Object.fromEntries(line.split(",").map((cell, at) => [columns[at], cell]));
    expect(cells(lines[0])).toMatchObject({
      kind: "unpack",
      stage: "embedding.bin",
      bytes: "4096",
      sweep: "",
    });
    expect(cells(lines[3])).toMatchObject({
      ...{ kind: "prefill", sweep: "0", rows: "7", stage: "0", bytes: "1000", wait_ms: "0.5" },
      ...{ ms: "20", handover_ms: "0.5", sample_ms: "1" },
      ...{ compute_ms: "3", attention_ms: "2", feed_forward_ms: "1", write_ms: "" },
    });
    expect(cells(lines.at(-1)!)).toMatchObject({
      kind: "decode",
      sweep: "5",
      stage: "output",
      attention_ms: "",
    });
  });

  it("quotes what needs it", () => {
    const recording = fullRecording();
    const [file] = recording.unpack!.files;
    const odd = { ...recording, unpack: { files: [{ ...file, name: 'a,"b"' }] } };
    expect(csvText(odd)).toContain('"a,""b"""');
  });
});
