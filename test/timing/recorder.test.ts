import { describe, expect, it } from "vitest";
import { readRecording } from "../../src/timing/read-recording.ts";
import { Recorder } from "../../src/timing/recorder.ts";
import { lanesAt, recorderOf, sweepAt } from "./a-recording.ts";

describe("a recorder", () => {
  it("gives what it was told, in times since its beginning", () => {
    const recording = recorderOf(2).recording();
    expect(recording).toMatchObject({ format: "sluice-timings", version: 1, command: "run" });
    expect(recording.spans.map(({ name, ms, tokens }) => [name, ms, tokens])).toEqual([
      ["load", 5, undefined],
      ["prefill", 20, 7],
      ["sample", 1, undefined],
      ["decode", 20, 1],
      ["sample", 1, undefined],
      ["decode", 20, 1],
      ["sample", 1, undefined],
    ]);
    const [prefill, decode] = recording.sweeps;
    expect(prefill).toMatchObject({ kind: "prefill", rows: 7, ms: 20, sampleMs: 1, handoverMs: 0.5 });
    expect(prefill.startMs).toBe(recording.spans[1].startMs);
    expect(prefill.startMs).toBeLessThan(1000);
    expect(decode.layers).toEqual(sweepAt(0).layers);
    expect([decode.embedding, decode.output]).toEqual([sweepAt(0).embedding, sweepAt(0).output]);
    expect(recording.verdict?.bound).toBe("disk");
    expect(recording.memory[0].rssBytes).toBeGreaterThan(1e6);
    expect(recording.peakRssBytes).toBeGreaterThanOrEqual(recording.memory[0].rssBytes * 0.9);
  });

  it("keeps the course of the first prefill, the first decodes, and the last", () => {
    const { timelines, sweeps } = recorderOf(10).recording();
    expect(timelines.map(({ sweep }) => sweep)).toEqual([0, 1, 2, 3, 10]);
    const last = timelines[4];
    expect(last.lanes.map(({ thread }) => thread)).toEqual(["reader", "compute 0"]);
    expect(last.lanes[0].events[0].startMs).toBe(sweeps[10].startMs);
    expect(recorderOf(0).recording().timelines).toHaveLength(1);
  });

  it("is bounded however long it goes on, and forgets no time", () => {
    const recorder = recorderOf(20_000);
    const recording = recorder.recording();
    expect(recording.sweeps).toHaveLength(2048);
    expect(recording.skipped).toEqual({
      sweeps: 20_001 - 2048,
      rows: 20_001 - 2048,
      ms: 20 * (20_001 - 2048),
    });
    expect(recording.spans.length).toBeLessThan(8200);
    const covered = recording.spans.reduce((sum, { ms }) => sum + ms, 0);
    // 21 of each 25 ms, and where spans were joined, what was between them.
    expect(covered).toBeGreaterThan(20_000 * 21);
    expect(covered).toBeLessThanOrEqual(20_001 * 25);
    const decoded = recording.spans.reduce(
      (sum, { name, tokens = 0 }) => sum + (name === "decode" ? tokens : 0),
      0,
    );
    expect(decoded).toBe(20_000);
    const last = recording.timelines.at(-1)!;
    expect(last.sweep).toBe(2047);
    expect(recording.sweeps[2047].startMs).toBe(last.lanes[0].events[0].startMs);
    expect(() => readRecording(JSON.stringify(recording), "it")).not.toThrow();
  });

  it("takes microseconds of a sweep", () => {
    const recorder = new Recorder("run");
    const start = performance.now();
    const sweeps = 2000;
    for (let sweep = 0; sweep < sweeps; sweep++)
      recorder.sweep("decode", sweepAt(start), () => lanesAt(start));
    // Some are taken for something else by a busy machine.
    expect((performance.now() - start) / sweeps).toBeLessThan(0.1);
    recorder.stop();
  });

  it("accounts for every moment of an unpack", async () => {
    const recorder = new Recorder("unpack");
    const { unpack } = recorder;
    const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
    unpack.begin();
    await pause();
    for (const file of ["a", "b"]) {
      unpack.fileBegins();
      await pause();
      const timing = { readMs: 1, dequantizeMs: 1, encodeMs: 1 };
      unpack.fileDone({ file, bytes: 10, stored: 10, timing, tensors: [] });
      await pause();
    }
    unpack.end(true);
    recorder.stop();
    const { unpack: recorded, spans } = recorder.recording();
    const parts = recorded!.files.reduce(
      (sum, { readMs, dequantizeMs, encodeMs, writeMs }) => sum + readMs + dequantizeMs + encodeMs + writeMs,
      recorded!.prepareMs! + recorded!.finishMs!,
    );
    expect(spans.map(({ name }) => name)).toEqual(["unpack"]);
    expect(Math.abs(parts / spans[0].ms - 1)).toBeLessThan(0.001);
    expect(recorded!.files.map(({ name }) => name)).toEqual(["a", "b"]);
  });

  it("leaves out what comes after the end, unless more is done", async () => {
    const recorder = recorderOf(1);
    const { ms, memory, peakRssBytes } = recorder.recording();
    const held = Buffer.alloc(peakRssBytes, 1);
    await new Promise((resolve) => setTimeout(resolve, 150));
    recorder.stop();
    expect(recorder.recording()).toMatchObject({ ms, memory, peakRssBytes });
    expect(held[1]).toBe(1);
    const now = performance.now();
    recorder.span("load", now, now);
    recorder.stop();
    const more = recorder.recording();
    expect(more.ms).toBeGreaterThan(ms + 100);
    expect(more.memory.length).toBeGreaterThan(memory.length);
    expect(more.peakRssBytes).toBeGreaterThan(peakRssBytes);
  });

  it("says nothing of an unpack that was not needed", () => {
    const recorder = new Recorder("unpack");
    recorder.unpack.begin();
    recorder.unpack.end(false);
    recorder.stop();
    const recording = recorder.recording();
    expect(recording.unpack).toBeUndefined();
    expect(recording.spans).toEqual([]);
  });
});
