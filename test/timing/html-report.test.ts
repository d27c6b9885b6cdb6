import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { htmlReport } from "../../src/timing/html-report.ts";
import { readRecording } from "../../src/timing/read-recording.ts";
import type { Recording } from "../../src/timing/recording.ts";
import { textReport } from "../../src/timing/text-report.ts";
import { sampleRecording } from "./sample-recording.ts";

const sample = sampleRecording();
const page = htmlReport([sample]);

function embedded(html: string): { labels: string[]; recordings: Recording[] } {
  return JSON.parse(html.match(/<script type="application\/json" id="recordings">(.*?)<\/script>/s)![1]);
}

describe("htmlReport", () => {
  it("carries the recording", () => {
    const { labels, recordings } = embedded(page);
    expect(labels).toEqual([""]);
    expect(recordings.length).toBe(1);
    expect(recordings[0]).toMatchObject(sample);
  });

  it("is one file that asks for nothing, and lets nothing else run", () => {
    const markup = page.replace(/<script\b.*?<\/script>|<style>.*?<\/style>/gs, "");
    expect(markup).not.toMatch(/\b(?:src|href|srcset|action)=|url\(|@import/);
    const [, script] = page.match(/<script>(.*?)<\/script>/s)!;
    const [, style] = page.match(/<style>(.*?)<\/style>/s)!;
    expect(style).not.toMatch(/url\(|@import/);
    const hash = (text: string) => createHash("sha256").update(text).digest("base64");
    expect(page).toContain(
      `default-src &#39;none&#39;; script-src &#39;sha256-${hash(script)}&#39;; style-src &#39;sha256-${hash(style)}&#39;;`,
    );
    expect(page.match(/<script/g)?.length).toBe(2);
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
  });

  it("keeps the licence of uPlot", () => {
    expect(page).toContain("Copyright (c) 2022 Leon Sorokin");
    expect(page).toContain("The above copyright notice and this permission notice shall be included");
  });

  it("says the figures of the recording", () => {
    const decode = sample.sweeps.filter(({ kind }) => kind === "decode");
    const ms = decode.reduce((sum, sweep) => sum + sweep.ms, 0);
    const found = [...page.matchAll(/<dt>(.*?)<\/dt><dd><data value="(.*?)">(.*?)<\/data>/g)];
    const figures = new Map(found.map(([, name, raw, text]) => [name, { raw: Number(raw), text }]));
    expect([...figures.keys()]).toEqual(["Generation", "Prompt", "Read from disk", "Peak memory"]);
    expect(figures.get("Generation")!.raw).toBeCloseTo(decode.length / (ms / 1000), 6);
    expect(figures.get("Generation")!.text).toBe((decode.length / (ms / 1000)).toFixed(2));
    expect(figures.get("Peak memory")!.raw).toBe(sample.peakRssBytes);
    expect(page).toContain("The disk sets the speed of generation.");
  });

  it("says where the first prompt's time went, and names what was only unpacked", () => {
    const [first, ...others] = sample.sweeps;
    const started = { ...sample, sweeps: [{ ...first, threadStartMs: first.ms / 2 }, ...others] };
    expect(page).toContain("<h3>What would help</h3>");
    expect(page).not.toContain("<h3>What would not help</h3>");
    expect(page).not.toContain("starting the compute threads");
    expect(htmlReport([started])).toMatch(/\(50\u00a0%\) went into hand-over: starting the compute threads/);
    const { model, verdict: _, ...rest } = sample;
    const { name, architecture, layers, dtype, cache } = model!;
    const made = { ...rest.unpack!, model: { name, architecture, layers, dtype, cache } };
    const unpacked = { ...rest, command: "unpack", unpack: made, sweeps: [], timelines: [] };
    expect(htmlReport([unpacked])).toContain(`<h1><bdi>${name}</bdi></h1>`);
    expect(readRecording(JSON.stringify(unpacked), "it").unpack?.model).toEqual(made.model);
    expect(textReport(unpacked)[0]).toContain(`unpack · ${name}, ${layers} layers, ${dtype} · `);
  });

  it("cannot be broken by names", () => {
    const name = `</script><script>alert(1)</script>"'><img src=x onerror=alert(2)>\u2028\u202e<!--`;
    const { model, machine, timelines, unpack } = sample;
    const hostile: Recording = {
      ...sample,
      command: name,
      began: name,
      sluice: name,
      machine: { ...machine, cpu: name, node: name, platform: name },
      model: { ...model!, name, architecture: name, dtype: name, cache: name, kvType: name },
      timelines: timelines.map((timeline) => ({
        ...timeline,
        lanes: timeline.lanes.map((lane) => ({ ...lane, thread: name })),
      })),
      unpack: { files: unpack!.files.map((file) => ({ ...file, name })) },
    };
    const broken = htmlReport([hostile, sample]);
    expect(broken.match(/<script/g)?.length).toBe(2);
    expect(broken.match(/<\/script/g)?.length).toBe(2);
    expect(broken.match(/<img|<!--|\u202e/)).toBe(null);
    expect(embedded(broken).recordings[0].model?.name).toBe(name);
  });

  it("compares two", () => {
    const both = htmlReport([sample, sampleRecording({ dtype: "q8" })]);
    expect(embedded(both).labels).toEqual(["A (f32)", "B (q8)"]);
    expect(both.match(/<p class="verdict-line">(.*?)</)?.[1]).toMatch(
      /^B \(q8\) is 3\.\d+\stimes as fast as A/,
    );
    expect(both.match(/class="card verdict"/g)?.length).toBe(2);
  });

  it("stays small for a long run of a large model", () => {
    const long = sampleRecording({ layers: 80, decode: 2000, unpack: false });
    const html = htmlReport([long, long]);
    expect(html.length).toBeLessThan(5e6);
    const decode = embedded(html).recordings[0].sweeps.filter(({ kind }) => kind === "decode");
    expect(decode.reduce((sum, sweep) => sum + sweep.rows, 0)).toBe(2000);
  });

  it("copes with recordings of next to nothing", () => {
    const {
      model: _model,
      verdict: _verdict,
      ...rest
    } = sampleRecording({ decode: 0, prefill: false, unpack: false });
    const html = htmlReport([{ ...rest, memory: [], spans: [], peakRssBytes: 0, ms: 0 }]);
    expect(html).toContain("nothing to judge");
  });
});
