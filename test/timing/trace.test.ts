import { describe, expect, it } from "vitest";
import { type TraceEvent, traceOf, traceText } from "../../src/timing/trace.ts";
import { fullRecording, recorderOf } from "./a-recording.ts";
import { checkTrace } from "./trace-format.ts";

const complete = (events: readonly TraceEvent[]) => events.filter(({ ph }) => ph === "X");

describe("a trace", () => {
  it("is as the published format wants it", () => {
    expect(checkTrace(JSON.parse(traceText(fullRecording())))).toEqual([]);
    expect(checkTrace(JSON.parse(traceText(recorderOf(0).recording())))).toEqual([]);
  });

  it("has a thread for each lane, with its name", () => {
    const { traceEvents } = traceOf(fullRecording());
    const names = traceEvents.filter(({ name }) => name === "thread_name").map(({ args }) => args?.["name"]);
    expect(names).toEqual(["main", "sweeps", "unpack", "reader", "compute 0"]);
    expect(traceEvents.find(({ name }) => name === "process_name")?.args).toEqual({
      name: "sluice run A model",
    });
  });

  it("has the numbers of the recording, in microseconds", () => {
    const recording = fullRecording();
    const { traceEvents } = traceOf(recording);
    const spans = complete(traceEvents).filter(({ cat }) => cat === "span");
    expect(spans).toHaveLength(recording.spans.length);
    const { startMs, ms } = recording.spans[1];
    expect(spans[1].ts).toBeCloseTo(startMs * 1000, 6);
    expect(spans[1].dur).toBeCloseTo(ms * 1000, 6);
    const events = recording.timelines.flatMap(({ lanes }) => lanes.flatMap((lane) => lane.events));
    for (const kind of ["read", "wait", "attention", "feed-forward", "output"])
      expect(complete(traceEvents).filter(({ cat }) => cat === kind)).toHaveLength(
        events.filter((event) => event.kind === kind).length,
      );
    const memory = traceEvents.filter(({ ph }) => ph === "C");
    expect(memory.map(({ args }) => args?.["resident bytes"])).toEqual(
      recording.memory.map(({ rssBytes }) => rssBytes),
    );
  });
});

describe("the check of the format", () => {
  it("finds what is wrong", () => {
    const good = traceOf(fullRecording());
    const [event] = complete(good.traceEvents);
    const withEvent = (changes: object) => ({
      ...good,
      traceEvents: [...good.traceEvents, { ...event, ...changes }],
    });
    for (const changes of [
      { ph: "Z" },
      { ts: "1" },
      { dur: -1 },
      { name: 3 },
      { tid: undefined },
      { ph: "C", args: { a: "1" } },
      { ph: "M", name: "thread_name", args: {} },
      // Begins inside an event and ends behind it.
      { ts: event.ts + event.dur! / 2, dur: event.dur },
    ])
      expect(checkTrace(withEvent(changes)), JSON.stringify(changes)).not.toEqual([]);
    expect(checkTrace([])).not.toEqual([]);
  });
});
