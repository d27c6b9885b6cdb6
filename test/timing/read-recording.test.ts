import { describe, expect, it } from "vitest";
import { SluiceError } from "../../src/errors.ts";
import { csvText } from "../../src/timing/csv.ts";
import { readRecording } from "../../src/timing/read-recording.ts";
import type { Recording } from "../../src/timing/recording.ts";
import { textComparison, textReport } from "../../src/timing/text-report.ts";
import { traceText } from "../../src/timing/trace.ts";
import { fullRecording } from "./a-recording.ts";

const read = (value: unknown) => readRecording(JSON.stringify(value), "r.json");

/** The error that reading gives; undefined where it is taken. Whatever is taken can be shown. */
function refusal(value: unknown): SluiceError | undefined {
  let recording: Recording;
  try {
    recording = read(value);
  } catch (error) {
    expect(error).toBeInstanceOf(SluiceError);
    expect((error as SluiceError).code).toBe("bad-input");
    expect((error as SluiceError).next).toBeDefined();
    return error as SluiceError;
  }
  for (const show of [textReport, csvText, traceText]) show(recording);
  textComparison(recording, fullRecording());
  return undefined;
}

/** Every place in a value, of lists only the first entry. */
function places(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [[...path]];
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.slice(0, 1).map((item) => [0, item])
    : Object.entries(value);
  return [[...path], ...entries.flatMap(([key, item]) => places(item, [...path, key]))];
}

/** A copy with another value at a place; undefined takes it away. */
function changed(value: unknown, [key, ...rest]: readonly (string | number)[], to: unknown): unknown {
  if (key === undefined) return to;
  const copy = structuredClone(value) as Record<string | number, unknown>;
  copy[key] = changed(copy[key], rest, to);
  return copy;
}

const OPTIONAL =
  /^(model|unpack|skipped|verdict|machine\.(disk|arithmetic)|verdict\.gain|unpack\.(prepareMs|finishMs)|spans\.0\.tokens|sweeps\.0\.(handoverMs|threadStartMs)|(.*)\.(attentionMs|feedForwardMs)|(.*)events\.0\.bytes)$/;

describe("reading a recording", () => {
  const full = fullRecording();

  it("gives back what was written", () => {
    expect(read(full)).toEqual(full);
  });

  it("leaves out what it does not know", () => {
    expect(read({ ...full, surprise: { "\u001b": 1 } })).toEqual(full);
  });

  it("refuses what has another type, or is missing, at every place", () => {
    const all = places(full);
    expect(all.length).toBeGreaterThan(100);
    for (const place of all) {
      const name = place.join(".");
      for (const wrong of [null, "\u001b[2J", -1, 1.5e308, [], [[]], {}, true, "x".repeat(5000)]) {
        const error = refusal(changed(full, place, wrong));
        const [last] = place.slice(-1);
        if (wrong === null) expect(error, name).toBeDefined();
        if (error && place.length > 1 && place[0] !== "format" && typeof last === "string")
          expect(error.message, name).toContain(last);
      }
      const gone = refusal(changed(full, place, undefined));
      const inList = typeof place[place.length - 1] === "number";
      if (!inList) expect(gone === undefined, name).toBe(OPTIONAL.test(name));
    }
  });

  it("says where", () => {
    const broken = changed(full, ["sweeps", 0, "layers", 0, "bytes"], "many");
    expect(refusal(broken)?.message).toBe("r.json: sweeps[0].layers[0].bytes must be a number");
    const absurd = changed(full, ["sweeps", 0, "layers", 0, "bytes"], 1e308);
    expect(refusal(absurd)?.message).toBe("r.json: sweeps[0].layers[0].bytes must be a number of sane size");
    const gone = changed(full, ["machine", "cpu"], undefined);
    expect(refusal(gone)?.message).toBe("r.json: machine.cpu is missing");
  });

  it("refuses what does not fit together", () => {
    const fewer = changed(full, ["sweeps", 1, "layers"], []);
    expect(refusal(fewer)?.message).toBe("r.json: sweeps[1].layers has 0 entries, and the model 4 layers");
    expect(refusal(changed(full, ["timelines", 0, "sweep"], 99))?.message).toContain(
      "timelines[0].sweep is 99",
    );
    const far = changed(full, ["timelines", 0, "lanes", 0, "events", 0, "stage"], 5);
    expect(refusal(far)?.message).toContain("stage beyond 4");
  });

  it("refuses lists and texts without end, control characters, and nesting without end", () => {
    const layers = Array.from({ length: 100_000 }, () => full.sweeps[0].layers[0]);
    expect(refusal({ ...full, sweeps: [{ ...full.sweeps[0], layers }] })?.message).toContain("4096 at most");
    const named = (name: string) => ({ ...full, model: { ...full.model, name } });
    for (const name of ["a\u001b[31m", "a\nb", "a\u0000", "\u202egnp.exe", "a\u009b2J"])
      expect(refusal(named(name))?.message).toContain("control characters");
    expect(refusal(named("Ünïcode 模型 🙂"))).toBeUndefined();
    const nested = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    expect(() => readRecording(nested, "r.json")).toThrow(SluiceError);
  });

  it("tells foreign, newer and broken files apart", () => {
    expect(refusal({ ...full, version: 2 })?.message).toBe(
      "r.json is a recording of version 2; this sluice reads version 1",
    );
    for (const foreign of [null, 3, "text", [], {}, { traceEvents: [] }, { format: "other", version: 1 }])
      expect(refusal(foreign)?.message).toBe("r.json is not a timing recording of sluice");
    for (const text of ["", "{", "kind,sweep\n", "\u0000\u0001", '{"format":"sluice-timings","ver'])
      expect(() => readRecording(text, "r.json")).toThrow(/r\.json is not JSON/);
  });
});
