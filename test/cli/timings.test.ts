import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseTimingsPath, timingsWriter } from "../../src/cli/timings-file.ts";
import {
  type Breakdown,
  spanBreakdown,
  sweepBreakdown,
  unpackBreakdown,
} from "../../src/timing/breakdown.ts";
import { readRecording } from "../../src/timing/read-recording.ts";
import type { Recording } from "../../src/timing/recording.ts";
import { checkTrace } from "../timing/trace-format.ts";
import { MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-timings-"));
const env = { SLUICE_CACHE_DIR: join(folder, "cache") };
const at = (name: string) => join(folder, name);
const question = ["--draft", "none", "--temp", "0", "-p", "What is the capital of Japan?"];
const run = (...argv: string[]) => sluice(["run", MODEL, ...argv], { env });
const recorded = (name: string): Recording => readRecording(readFileSync(at(name), "utf8"), name);

/** The share of the wall time that the parts make up. */
const share = ({ parts, ms }: Breakdown) => parts.reduce((sum, [, part]) => sum + part, 0) / ms;

afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(async () => {
  const { code, stderr } = await sluice(["unpack", MODEL, "--timings", at("unpack.json")], { env });
  expect(code, stderr).toBe(0);
});

describe("--timings of an unpack", () => {
  it("accounts for all of its time, by file and by tensor", () => {
    const recording = recorded("unpack.json");
    expect(recording).toMatchObject({ command: "unpack", sweeps: [], timelines: [] });
    expect(Math.abs(share(unpackBreakdown(recording)!) - 1)).toBeLessThan(0.03);
    const { files } = recording.unpack!;
    expect(files).toHaveLength(38);
    for (const { name, ms, readMs, dequantizeMs, encodeMs, writeMs, tensors, bytes } of files) {
      expect((readMs + dequantizeMs + encodeMs + writeMs) / ms, name).toBeCloseTo(1, 1);
      const sum = (key: "readMs" | "dequantizeMs" | "encodeMs") =>
        tensors.reduce((total, tensor) => total + tensor[key], 0);
      expect(sum("readMs")).toBeCloseTo(readMs, 1);
      expect(sum("dequantizeMs")).toBeCloseTo(dequantizeMs, 1);
      expect(sum("encodeMs")).toBeLessThanOrEqual(encodeMs + 0.01);
      const unpadded = tensors.reduce((total, tensor) => total + tensor.bytes, 0);
      expect(unpadded).toBeLessThanOrEqual(bytes);
      expect(unpadded).toBeGreaterThan(bytes - 4096 * tensors.length);
    }
    expect(files[1].tensors.map(({ name }) => name)).toContain("ffn_gate_up");
  });

  it("says that there was nothing to do", async () => {
    const { code } = await sluice(["unpack", MODEL, "--timings", at("again.json")], { env });
    expect(code).toBe(0);
    expect(recorded("again.json")).toMatchObject({ spans: [] });
    expect(recorded("again.json").unpack).toBeUndefined();
  });
});

describe("--timings of an answer", () => {
  it("accounts for the time of prefill and decode, and changes nothing of what is printed", async () => {
    const outcome = await run(...question, "--timings", at("run.json"));
    expect(outcome).toMatchObject({ code: 0, stdout: "The capital of Japan is Tokyo.\n", stderr: "" });
    const recording = recorded("run.json");
    for (const kind of ["prefill", "decode"] as const)
      expect(Math.abs(share(sweepBreakdown(recording, kind)!) - 1), kind).toBeLessThan(0.03);
    const names = spanBreakdown(recording).parts.map(([name]) => name);
    expect(names).toEqual(["load", "template", "tokenize", "prefill", "sample", "decode", "other"]);
    expect(recording.sweeps.map(({ kind }) => kind)).toEqual([
      "prefill",
      ...Array.from({ length: 10 }, () => "decode"),
    ]);
    expect(recording.model).toMatchObject({ name: "Tiny-SmolLM3-Chat", layers: 36, dtype: "f32" });
    expect(recording.verdict?.text).toBeDefined();
    expect(recording.peakRssBytes).toBeGreaterThan(20e6);
    for (const [index, { startMs, ms }] of recording.spans.entries()) {
      const next = recording.spans[index + 1];
      if (next) expect(startMs + ms).toBeLessThanOrEqual(next.startMs + 0.002);
    }
  });

  it("is a trace, a table or a page by its ending, whatever its case", async () => {
    await run(...question, "--timings", at("a.trace.json"));
    expect(checkTrace(JSON.parse(readFileSync(at("a.trace.json"), "utf8")))).toEqual([]);
    await run(...question, "--timings", at("a.CSV"));
    const lines = readFileSync(at("a.CSV"), "utf8").trimEnd().split("\n");
    expect(lines).toHaveLength(1 + 11 * 38);
    await run(...question, "--timings", at("a.html"));
    expect(readFileSync(at("a.html"), "utf8")).toMatch(/^<!doctype html>/i);
  });

  it("is written after Ctrl-C as well, with what there was", async () => {
    const { code } = await sluice(
      [
        "run",
        MODEL,
        "-p",
        "Once upon a time",
        "--no-template",
        "--temp",
        "2",
        "--timings",
        at("stopped.json"),
      ],
      { env, onStdout: (_, child) => child.kill("SIGINT") },
    );
    expect(code).toBe(130);
    expect(recorded("stopped.json").sweeps.length).toBeGreaterThan(0);
  });

  it("is written after a second Ctrl-C, which leaves at once", async () => {
    const endless = ["bench", MODEL, "-p", "0", "-n", "500", "-r", "1000"];
    const { code } = await sluice([...endless, "--timings", at("twice.json")], {
      env,
      onStdout: (_, child) => {
        child.kill("SIGINT");
        setTimeout(() => child.kill("SIGINT"), 5);
      },
    });
    expect(code).toBe(130);
    expect(recorded("twice.json").command).toBe("bench");
  });
});

describe("--timings of the other commands", () => {
  it("works for a chat", async () => {
    const argv = ["chat", MODEL, "--temp", "0", "--timings", at("chat.json")];
    const { code } = await sluice(argv, { env, input: "What is 7 plus 5?\nWhat is 1 plus 1?\n" });
    expect(code).toBe(0);
    const recording = recorded("chat.json");
    expect(recording.command).toBe("chat");
    expect(recording.sweeps.filter(({ kind }) => kind === "prefill")).toHaveLength(2);
  });

  it("works for a benchmark, whose warming up has spans but no sweeps", async () => {
    const argv = ["bench", MODEL, "-p", "40", "-n", "5", "-r", "2", "--timings", at("bench.json")];
    expect((await sluice(argv, { env })).code).toBe(0);
    const { sweeps, spans, command, model } = recorded("bench.json");
    expect(command).toBe("bench");
    expect(model?.contextLength).toBe(40);
    expect(sweeps.filter(({ kind }) => kind === "prefill").map(({ rows }) => rows)).toEqual([40, 40]);
    expect(sweeps.filter(({ kind }) => kind === "decode")).toHaveLength(10);
    expect(spans.filter(({ name }) => name === "decode")).toHaveLength(11);
  });
});

describe("a file that cannot be", () => {
  it("is a usage error where its ending says nothing", async () => {
    const { code, stderr } = await run(...question, "--timings", "t.txt");
    expect(code).toBe(2);
    for (const ending of [".json", ".csv", ".html", ".trace.json"]) expect(stderr).toContain(ending);
    for (const path of ["t", "json", "-", "", "t.json.gz"]) expect(() => parseTimingsPath(path)).toThrow();
    for (const path of ["t.JSON", "a/b.trace.json", ".csv", "x.html"])
      expect(parseTimingsPath(path)).toBe(path);
  });

  it("is told before any work", async () => {
    const outcome = await run(...question, "--timings", at("no/such/t.json"));
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
    expect(outcome.stderr).toMatch(/^sluice: cannot write .*\n {2}Check the path given with --timings\.\n$/);
    mkdirSync(at("folder.json"));
    for (const name of ["no/such/t.csv", "folder.json", "unpack.json/t.csv"])
      await expect(timingsWriter(at(name))).rejects.toMatchObject({
        code: "io",
        next: expect.stringContaining("--timings"),
      });
  });

  it("stays as it was when the command fails, and leaves nothing beside it", async () => {
    writeFileSync(at("kept.json"), "before");
    const missing = await sluice(["run", at("none.gguf"), "-p", "a", "--timings", at("kept.json")], { env });
    expect(missing.code).toBe(1);
    const usage = await run("-p", "a", "--logprobs", "3", "--timings", at("kept.json"));
    expect(usage.code).toBe(2);
    expect(readFileSync(at("kept.json"), "utf8")).toBe("before");
    expect(readdirSync(folder).filter((name) => /partial|tmp/.test(name))).toEqual([]);
  });

  it("may be a link, which stays one", async () => {
    writeFileSync(at("real.json"), "before");
    symlinkSync(at("real.json"), at("link.json"));
    symlinkSync(at("later.json"), at("dangling.json"));
    for (const name of ["link.json", "dangling.json"]) {
      (await timingsWriter(at(name)))(recorded("unpack.json"));
      expect(lstatSync(at(name)).isSymbolicLink()).toBe(true);
    }
    expect(recorded("real.json").command).toBe("unpack");
    expect(existsSync(at("later.json"))).toBe(true);
  });
});

describe("report", () => {
  const report = (...argv: string[]) => sluice(["report", ...argv], { env });

  it("shows a recording as text", async () => {
    const { code, stdout, stderr } = await report(at("unpack.json"), "--text");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^unpack · /);
    expect(stdout).toMatch(/^dequantize +[\d.]+ +[\d.]+ %$/m);
  });

  it("compares two, to a file where one is named", async () => {
    const pair = [at("unpack.json"), at("unpack.json")];
    const { stdout } = await report(...pair, "--text");
    expect(stdout).toMatch(/^B: unpack · /m);
    expect((await report(...pair, "--text", "-o", at("pair.txt"))).stdout).toBe("");
    expect(readFileSync(at("pair.txt"), "utf8")).toBe(stdout);
  });

  it("refuses two that have nothing in common", async () => {
    const { code, stdout, stderr } = await report(at("run.json"), at("unpack.json"));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/cannot be compared: one is of sluice run, the other of sluice unpack, /);
    expect(existsSync(at("run-unpack.html"))).toBe(false);
  });

  it("makes a page beside the recording, and says where", async () => {
    const beside = await report(at("unpack.json"));
    expect(beside).toMatchObject({ code: 0, stdout: "", stderr: `The report is ${at("unpack.html")}\n` });
    expect(readFileSync(at("unpack.html"), "utf8")).toMatch(/^<!doctype html>/i);
    const named = await report(at("unpack.json"), "-o", at("other.html"));
    expect(named).toMatchObject({ code: 0, stderr: "" });
    expect((await report(at("unpack.json"), "-o", "-")).stdout).toMatch(/^<!doctype html>/i);
    const piped = await sluice(["report", "-", "--text"], {
      env,
      input: readFileSync(at("unpack.json"), "utf8"),
    });
    expect(piped.stdout).toMatch(/^unpack · /);
  });

  it("says what is wrong with a file", async () => {
    writeFileSync(at("newer.json"), '{"format":"sluice-timings","version":9}');
    writeFileSync(at("foreign.json"), '{"traceEvents":[]}');
    writeFileSync(at("broken.json"), '{"format":"sluice-timings","version":1,"sluice":"\u001b[31m"}');
    const cases = [
      ["newer.json", "version 9"],
      ["foreign.json", "not a timing recording"],
      ["broken.json", "sluice"],
      ["nowhere.json", "no such file"],
    ];
    for (const [name, said] of cases) {
      const { code, stdout, stderr } = await report(at(name));
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain(said);
      expect(existsSync(at(name.replace(".json", ".html")))).toBe(false);
    }
    expect((await report()).code).toBe(2);
  });
});
