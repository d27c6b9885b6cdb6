import { afterAll, describe, expect, it } from "vitest";
import type { Lane, SpanName } from "../../src/timing/recording.ts";
import type { Observer, SweepKind, SweepTiming } from "../../src/timing/types.ts";
import { modelFolder } from "./model-fixture.ts";

interface Seen {
  readonly kind: SweepKind;
  readonly timing: SweepTiming;
  readonly lanes: Lane[];
}

/** Clocks of threads agree to some hundredths of a millisecond. */
const CLOCK_MS = 0.1;

function watcher() {
  const sweeps: Seen[] = [];
  const spans: { readonly name: SpanName; readonly start: number; readonly end: number }[] = [];
  const observer: Observer = {
    span: (name, start, end) => spans.push({ name, start, end }),
    sweep: (kind, timing, lanes) => sweeps.push({ kind, timing, lanes: lanes() }),
  };
  return { sweeps, spans, observer };
}

const parts = ({ embedding, layers, output, handoverMs }: SweepTiming) =>
  [embedding, ...layers, output].reduce((sum, { waitMs, computeMs }) => sum + waitMs + computeMs, handoverMs);

describe("what an engine tells of its sweeps", () => {
  const models = modelFolder();
  afterAll(() => models.remove());
  const path = models.make({ context: 400 });
  const prompt = Array.from({ length: 300 }, (_, index) => (index * 37) % 250);

  it("adds up to their time, by layer, attention and feed-forward", async () => {
    const { sweeps, spans, observer } = watcher();
    const model = await models.open(path, { observer, drafts: [], threads: 2 });
    for await (const _ of model.createSession().generate(prompt, { maxTokens: 20 }));
    await model.close();
    expect(sweeps.map(({ kind, timing }) => `${kind} ${timing.rows}`)).toEqual([
      ...["prefill 128", "prefill 128", "prefill 44"],
      ...Array.from({ length: 19 }, () => "decode 1"),
    ]);
    const wall = sweeps.reduce((sum, { timing }) => sum + timing.ms, 0);
    const sum = sweeps.reduce((total, { timing }) => total + parts(timing), 0);
    expect(sum / wall).toBeGreaterThan(0.97);
    expect(sum / wall).toBeLessThan(1.03);
    // The threads are started once, whatever comes after.
    expect(sweeps.map(({ timing }) => timing.threadStartMs !== undefined).indexOf(true, 1)).toBe(-1);
    expect(sweeps[0].timing.threadStartMs).toBeGreaterThan(0);
    for (const { timing } of sweeps) {
      expect(timing.handoverMs).toBeGreaterThanOrEqual(0);
      for (const { computeMs, attentionMs, feedForwardMs } of timing.layers) {
        expect(attentionMs! + feedForwardMs!).toBeCloseTo(computeMs, 9);
        expect(attentionMs).toBeGreaterThan(0);
        expect(feedForwardMs).toBeGreaterThan(0);
      }
      expect(timing.output.attentionMs).toBeUndefined();
    }
    expect(spans.map(({ name }) => name)).toEqual(["load", ...Array.from({ length: 20 }, () => "sample")]);
  });

  it("has a lane for each thread, whose events lie inside the sweep and make its sums", async () => {
    const { sweeps, observer } = watcher();
    const model = await models.open(path, { observer, drafts: [], threads: 2 });
    for await (const _ of model.createSession().generate(prompt, { maxTokens: 4 }));
    await model.close();
    for (const { timing, lanes } of sweeps) {
      expect(lanes.map(({ thread }) => thread)).toEqual(["reader", "compute 0", "compute 1"]);
      const [reader, first, second] = lanes.map(({ events }) => events);
      const layers = timing.layers.length;
      expect(reader.reduce((sum, { bytes = 0 }) => sum + bytes, 0)).toBe(
        [...timing.layers, timing.output].reduce((sum, { bytes }) => sum + bytes, 0),
      );
      const asked = timing.output.computeMs > 0;
      for (const events of [first, second]) {
        expect(events[0].startMs).toBeGreaterThan(timing.startMs - CLOCK_MS);
        const last = events[events.length - 1];
        expect(last.startMs + last.ms).toBeLessThan(timing.startMs + timing.ms + CLOCK_MS);
        expect(events.some(({ kind }) => kind === "output")).toBe(asked);
        expect(events.every(({ stage }) => stage <= layers)).toBe(true);
      }
      for (const [layer, { attentionMs, feedForwardMs }] of timing.layers.entries()) {
        const sum = (kind: string) =>
          first
            .filter((event) => event.stage === layer && event.kind === kind)
            .reduce((ms, event) => ms + event.ms, 0);
        expect(sum("attention")).toBeCloseTo(attentionMs!, 6);
        expect(sum("feed-forward")).toBeCloseTo(feedForwardMs!, 6);
      }
      const waited = first.filter(({ kind }) => kind === "wait").reduce((sum, { ms }) => sum + ms, 0);
      const told = [...timing.layers, timing.output].reduce((sum, { waitMs }) => sum + waitMs, 0);
      expect(waited).toBeCloseTo(told, 6);
    }
  });

  it("tells of a sweep that was stopped, and begins anew after it", async () => {
    const { sweeps, spans, observer } = watcher();
    const model = await models.open(path, { observer, drafts: [] });
    const session = model.createSession();
    const stop = new AbortController();
    const tokens = session.generate(prompt, { signal: stop.signal, onProgress: () => stop.abort() });
    setTimeout(() => stop.abort(), 1);
    for await (const _ of tokens);
    const count = sweeps.length;
    for await (const _ of session.generate(prompt, { maxTokens: 2 }));
    await model.close();
    const stopped = spans.filter(({ name }) => name === "prefill" || name === "decode");
    expect(stopped).toHaveLength(1);
    const [{ timing, lanes }] = sweeps.slice(-1);
    expect(sweeps.length).toBeGreaterThan(count);
    expect(parts(timing) / timing.ms).toBeGreaterThan(0.9);
    expect(lanes[1].events.filter(({ kind }) => kind === "attention").length).toBeGreaterThan(0);
    expect(lanes[1].events[0].startMs).toBeGreaterThan(timing.startMs - CLOCK_MS);
  });
});
