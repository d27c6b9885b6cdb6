import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  type BenchRecord,
  csvLines,
  markdownHead,
  markdownLine,
  summarize,
} from "../../src/cli/bench-report.ts";
import { dropFromPageCache } from "../../src/cli/page-cache.ts";
import { MODEL, sluice } from "./spawn.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-bench-"));
afterAll(() => rmSync(root, { recursive: true }));

const bench = async (...argv: string[]) => {
  const result = await sluice(["bench", MODEL, "--dtype", "q8", "--cache-dir", root, "-r", "2", ...argv]);
  expect(result.code, result.stderr).toBe(0);
  return result.stdout;
};

const record: BenchRecord = {
  build_commit: "1.2.3",
  cpu_info: 'A "fast" one',
  backends: "WASM",
  model_filename: "m.gguf",
  model_type: "smollm3 3.1B q8",
  model_size: 3.28e9,
  model_n_params: 3.08e9,
  n_batch: 256,
  n_threads: 2,
  type_k: "f16",
  type_v: "f16",
  test_time: "2026-01-01T00:00:00.000Z",
  ...summarize({ test: { kind: "tg", tokens: 16 }, samplesNs: [2e9, 1e9, 4e9], sweeps: [] }),
  dtype: "q8",
  ram: "",
  cold: false,
  direct: true,
  ring_bytes: 1,
  resident_bytes: 0,
  streamed_bytes: 3.28e9,
  draft: "",
  acceptance: "",
  draft_n: 0,
  draft_n_accepted: 0,
  tokens_per_sweep: 1,
  peak_rss_bytes: 1.3e8,
};

describe("the figures of bench", () => {
  it("are the mean and deviation of the repetitions, as llama-bench has them", () => {
    expect(record).toMatchObject({ n_prompt: 0, n_gen: 16, samples_ts: [8, 16, 4] });
    expect(record.avg_ns).toBeCloseTo(7e9 / 3, -1);
    expect(record.avg_ts).toBeCloseTo(28 / 3);
    expect(record.stddev_ts).toBeCloseTo(Math.sqrt((4 ** 2 / 9 + 20 ** 2 / 9 + 16 ** 2 / 9) / 2));
    expect(summarize({ test: { kind: "pp", tokens: 4 }, samplesNs: [2e9], sweeps: [] })).toMatchObject({
      n_prompt: 4,
      n_gen: 0,
      avg_ts: 2,
      stddev_ts: 0,
    });
  });

  it("stand in llama-bench's columns", () => {
    const small = { ...record, model_size: 2.9e6, model_n_params: 1.84e6, n_gen: 0, n_prompt: 128 };
    expect([...markdownHead(), markdownLine(record), markdownLine(small)].join("\n")).toMatchInlineSnapshot(`
      "| model                          |       size |     params | backend    | threads |            test |                  t/s |
      | ------------------------------ | ---------: | ---------: | ---------- | ------: | --------------: | -------------------: |
      | smollm3 3.1B q8                |   3.05 GiB |     3.08 B | WASM       |       2 |            tg16 |          9.33 ± 6.11 |
      | smollm3 3.1B q8                |   2.77 MiB |     1.84 M | WASM       |       2 |           pp128 |          9.33 ± 6.11 |"
    `);
  });

  it("are quoted in CSV, without the samples", () => {
    const [head, line] = csvLines([record]);
    expect(head).toBe(
      "build_commit,cpu_info,backends,model_filename,model_type,model_size,model_n_params,n_batch,n_threads,type_k,type_v,test_time,n_prompt,n_gen,n_depth,avg_ns,stddev_ns,avg_ts,stddev_ts,dtype,ram,cold,direct,ring_bytes,resident_bytes,streamed_bytes,draft,acceptance,draft_n,draft_n_accepted,tokens_per_sweep,peak_rss_bytes",
    );
    expect(line).toMatch(/^"1\.2\.3","A ""fast"" one","WASM","m\.gguf",/);
  });
});

describe("bench", () => {
  it.each([
    ["-p", "1025"],
    ["-n", "99999999999"],
  ])("refuses more tokens than the context holds: %s %s", async (option, tokens) => {
    const argv = ["bench", MODEL, "--dtype", "q8", "--cache-dir", root, option, tokens];
    const { code, stdout, stderr } = await sluice(argv);
    expect(stderr).toContain(
      `sluice: ${option} ${tokens} is more than the model's context holds: 1024 tokens\n`,
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  });

  it("prints a row for each test, and each layer's times with --verbose", async () => {
    const lines = (await bench("-p", "8", "-n", "2", "--verbose")).split("\n");
    expect(lines.filter((line) => line.startsWith("| smollm3 1.8M q8 "))).toHaveLength(2);
    expect(lines.some((line) => / {12}pp8 \| +[\d.]+ ± [\d.]+ \|$/.test(line))).toBe(true);
    expect(lines.some((line) => / {12}tg2 \| +[\d.]+ ± [\d.]+ \|$/.test(line))).toBe(true);
    expect(lines.filter((line) => /^35 +0\.07/.test(line))).toHaveLength(2);
    expect(lines.slice(-3)).toEqual([
      expect.stringMatching(
        /^each sweep reads 2\.88 MB; in memory: 0 B of weights, a ring of .*; peak [\d.]+ MB$/,
      ),
      expect.stringMatching(/^build: sluice [\d.]+, Node\.js v/),
      "",
    ]);
  });

  it("lets guessed tokens hold with a given probability, and does all of the work", async () => {
    const records = async (...argv: string[]): Promise<BenchRecord[]> =>
      JSON.parse(await bench("-p", "0", "-n", "48", "-r", "1", "-o", "json", ...argv));
    const [all] = await records("--draft", "lookup", "--acceptance", "1");
    expect(all).toMatchObject({ draft: "lookup", acceptance: 1, n_gen: 48 });
    expect(all.draft_n).toBeGreaterThan(0);
    expect(all.draft_n_accepted).toBe(all.draft_n);
    expect(all.tokens_per_sweep).toBeGreaterThan(1);
    const [none] = await records("--draft", `model:${MODEL}`, "--acceptance", "0");
    expect(none).toMatchObject({ draft_n_accepted: 0, tokens_per_sweep: 1, draft: `model:${MODEL}` });
    const [plain] = await records();
    expect(plain).toMatchObject({ draft: "", acceptance: "", draft_n: 0, tokens_per_sweep: 1 });
  });

  it.each([
    [["--acceptance", "0.5"], "--acceptance needs --draft"],
    [["--draft", "lookup", "--acceptance", "1.5"], "a number from 0 to 1"],
    [["--draft", "oracle"], "lookup, shadow, model:MODEL, or none"],
  ])("refuses %j", async (argv, message) => {
    const { code, stderr } = await sluice(["bench", MODEL, ...argv]);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it("prints JSON with every field, and obeys threads, budget and KV type", async () => {
    const argv = ["-p", "300", "-n", "0", "-o", "json", "-t", "1", "--ram", "auto", "--kv", "f32"];
    const records: BenchRecord[] = JSON.parse(await bench(...argv));
    expect(records).toHaveLength(1);
    expect(Object.keys(records[0]).sort()).toEqual(Object.keys(record).sort());
    expect(records[0]).toMatchObject({
      model_filename: MODEL,
      model_size: 2875392,
      n_threads: 1,
      type_k: "f32",
      n_prompt: 300,
      ram: "auto",
      streamed_bytes: 0,
    });
    expect(records[0].samples_ns).toHaveLength(2);
    for (const ns of records[0].samples_ns) expect(ns).toBeGreaterThan(0);
  });

  it.runIf(process.platform === "linux")("takes the files out of the page cache with --cold", async () => {
    const [{ cold }] = JSON.parse(await bench("-p", "0", "-n", "1", "-o", "json", "--cold"));
    expect(cold).toBe(true);
    await expect(dropFromPageCache(["/nowhere/at/all"])).rejects.toMatchObject({ code: "unsupported" });
    // What is dropped is still there.
    const before = readFileSync(MODEL);
    await dropFromPageCache([MODEL]);
    expect(readFileSync(MODEL)).toEqual(before);
  });
});
