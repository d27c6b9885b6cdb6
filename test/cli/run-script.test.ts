import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunReport } from "../../src/cli/run-report.ts";
import { MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-script-"));
const env = { SLUICE_CACHE_DIR: folder };
const run = (argv: readonly string[], input?: string) =>
  sluice(["run", "--temp", "0", ...argv], { env, ...(input !== undefined && { input }) });
const QUESTION = ["-p", "What is the capital of Japan?"];

beforeAll(async () => {
  const { code, stderr } = await sluice(["unpack", "-m", MODEL], { env });
  expect(code, stderr).toBe(0);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("run in scripts", () => {
  it("needs neither model nor prompt where stdin has one", async () => {
    const outcome = await run([], "What is the capital of Japan?\n");
    expect(outcome).toMatchObject({ code: 0, stdout: "The capital of Japan is Tokyo.\n", stderr: "" });
  });

  it("takes the system message from a file", async () => {
    const path = join(folder, "system.txt");
    writeFileSync(path, "Answer in one word.\n");
    const outcome = await run(["--system-file", path, "-p", "What is the capital of Germany?"]);
    expect(outcome).toMatchObject({ code: 0, stdout: "Berlin\n" });
  });
});

describe("run --stop", () => {
  it.each([
    // tokens: The, capital, of, Japan, is, T, ok, y, o, .
    [["Tokyo"], "The capital of Japan is ", "Tokyo"],
    [[" of Japan i"], "The capital", " of Japan i"],
    [["nothing of it", "apital"], "The c", "apital"],
    [["Tokyo!"], "The capital of Japan is Tokyo.", undefined],
  ])("%j", async (stops, text, stopText) => {
    const argv = [...QUESTION, ...stops.flatMap((stop) => ["--stop", stop])];
    expect(await run(argv)).toMatchObject({ code: 0, stdout: `${text}\n`, stderr: "" });
    const { output }: RunReport = JSON.parse((await run([...argv, "--json"])).stdout);
    expect(output.text).toBe(text);
    expect(output.stop).toBe(stopText === undefined ? "eog" : "stop");
    expect(output.stop_text).toBe(stopText);
  });

  it("prints what was held back when the answer ends otherwise", async () => {
    expect((await run([...QUESTION, "--stop", " of France", "-n", "3"])).stdout).toBe("The capital of\n");
  });
});

describe("run --json-lines", () => {
  const events = (stdout: string) =>
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));

  it("prints start, tokens and end", async () => {
    const { code, stdout, stderr } = await run([...QUESTION, "--json-lines", "--logprobs", "2", "--explain"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const all = events(stdout);
    expect(all[0]).toMatchObject({ event: "start", model: { layers: 36, dtype: "f32" } });
    expect(all[0].prompt.tokens).toBeGreaterThan(5);
    const tokens = all.slice(1, -1);
    const end = all[all.length - 1];
    expect(new Set(tokens.map(({ event }) => event))).toEqual(new Set(["token"]));
    expect(tokens.map(({ text }) => text).join("")).toBe("The capital of Japan is Tokyo.");
    expect(tokens.map(({ id }) => id)).toEqual(end.output.ids);
    expect(tokens[0].logprob.top).toHaveLength(2);
    expect(tokens[0].choice.candidates).toHaveLength(5);
    expect(end).toMatchObject({ event: "end", output: { stop: "eog" }, timings: { prompt_n: 15 } });
    expect(end.timings.prompt_n).toBe(all[0].prompt.tokens);
    expect(Object.keys(end)).toEqual(["event", "output", "timings", "memory"]);
  });

  it("comes as it happens", async () => {
    const first = await new Promise<string>((resolve) => {
      void sluice(["run", "-p", "Tell me a short story about a cat.", "--json-lines"], {
        env,
        onStdout: (stdout, child) => {
          if (stdout.includes('"token"') && !stdout.includes('"end"')) {
            resolve(stdout);
            child.kill("SIGTERM");
          }
        },
      });
    });
    expect(events(first.slice(0, first.lastIndexOf("\n")))[0].event).toBe("start");
  });

  it("tells of a failure, after the start and before it, with exit code 1", async () => {
    const full = await run([...QUESTION, "--json-lines", "-c", "4"]);
    expect(full.code).toBe(1);
    const told = events(full.stdout);
    expect(told[told.length - 1]).toMatchObject({ event: "error", code: "context-full" });
    expect(full.stderr).toMatch(/^sluice: the prompt has/);
    const missing = await sluice(["run", "/nowhere.gguf", "-p", "x", "--json-lines"], { env });
    expect(missing.code).toBe(1);
    expect(events(missing.stdout)).toEqual([
      expect.objectContaining({
        event: "error",
        code: "io",
        message: expect.stringContaining("/nowhere.gguf"),
      }),
    ]);
  });
});

describe("run --explain", () => {
  it("shows on stderr what each token was chosen from", async () => {
    const argv = ["run", ...QUESTION, "-s", "1", "--explain"];
    const { stdout, stderr } = await sluice(argv, { env });
    expect(stdout).toBe("The capital of Japan is Tokyo.\n");
    expect(stderr).toMatch(/^1 +> "The" +\d+\.\d+ % +100\.0 %$/m);
    expect(stderr).toMatch(/^ +" opposite" +\d+\.\d+ % +- +removed by top-p$/m);
    expect(stderr).toMatch(/^ +top-k leaves 40 \(\d+\.\d %\), top-p leaves \d+ /m);
    expect(stderr).toContain('> "<|im_end|>"');
  });

  it("is in the JSON instead", async () => {
    const { stdout, stderr } = await run([...QUESTION, "--json", "--explain", "-n", "2"]);
    const { choices, output }: RunReport = JSON.parse(stdout);
    expect(stderr).toBe("");
    expect(choices).toHaveLength(2);
    expect(choices![0].candidates[0]).toMatchObject({ id: output.ids[0], after: 1 });
  });
});
