import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunReport } from "../../src/cli/run-report.ts";
import { environment, MAIN, MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-run-"));
const env = { SLUICE_CACHE_DIR: folder };
const run = (argv: readonly string[], input?: string) =>
  sluice(["run", MODEL, "--temp", "0", ...argv], { env, ...(input !== undefined && { input }) });

beforeAll(async () => {
  const { code, stderr } = await sluice(["run", MODEL, "-p", "Hello!", "-n", "1"], { env });
  expect(code, stderr).toBe(0);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** As llama.cpp answers with the same file. */
const CONVERSATIONS = [
  {
    messages: [{ role: "user", content: "What is the capital of Japan?" }],
    ids: [293, 313, 283, 979, 267, 377, 573, 121, 111, 46, 1023],
    text: "The capital of Japan is Tokyo.",
  },
  {
    messages: [{ role: "user", content: "How do you say hello in Japanese?" }],
    ids: [
      583, 318, 979, 725, 267, 32, 227, 129, 147, 227, 130, 147, 227, 129, 171, 227, 129, 161, 227, 129, 175,
      46, 1023,
    ],
    text: "Hello in Japanese is こんにちは.",
  },
  {
    messages: [
      { role: "user", content: "I live in Rome." },
      { role: "assistant", content: "Rome is a nice city." },
      { role: "user", content: "What is 4 plus 4?" },
      { role: "assistant", content: "4 plus 4 is 8." },
      { role: "user", content: "Where do I live?" },
    ],
    ids: [374, 503, 318, 435, 685, 46, 1023],
    text: "You live in Rome.",
  },
  {
    messages: [
      { role: "system", content: "You are a pirate." },
      { role: "user", content: "What colour is grass?" },
    ],
    ids: [402, 33, 563, 114, 263, 267, 606, 46, 1023],
    text: "Arr! Grass is green.",
  },
];

describe("run", () => {
  it("prints the answer and nothing else when piped", async () => {
    const outcome = await run(["-p", "What is the capital of Japan?"]);
    expect(outcome).toMatchObject({ code: 0, stdout: "The capital of Japan is Tokyo.\n", stderr: "" });
  });

  it("takes the prompt from stdin and from a file, and a system message", async () => {
    const question = "What is the capital of Germany?\n";
    const system = ["--system", "Answer in one word."];
    const answer = { code: 0, stdout: "Berlin\n", stderr: "" };
    expect(await run(["-p", "-", ...system], question)).toMatchObject(answer);
    const path = join(folder, "question.txt");
    writeFileSync(path, question);
    expect(await run(["-f", path, ...system])).toMatchObject(answer);
  });

  it.each(CONVERSATIONS)("answers messages as llama.cpp does: $text", async ({ messages, ids, text }) => {
    const path = join(folder, `${ids.length}.json`);
    writeFileSync(path, JSON.stringify(messages));
    const { code, stdout, stderr } = await run(["--messages", path, "--json"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect((JSON.parse(stdout) as RunReport).output).toEqual({ text, ids, stop: "eog" });
  });

  it("continues a text without the template", async () => {
    const argv = ["--no-template", "-p", "Once upon a time there was a little fox named", "-n", "12"];
    const { output, prompt }: RunReport = JSON.parse((await run([...argv, "--json"])).stdout);
    expect(output.text).toMatch(/^ Ruby\. Ruby lived in a/);
    expect(output.stop).toBe("length");
    expect(output.ids).toHaveLength(12);
    expect(prompt.text).toBe("Once upon a time there was a little fox named");
  });

  it("shows what the model gets to read", async () => {
    const { stderr } = await run(["-p", "Hello!", "--show-template"]);
    expect(stderr).toBe("<|im_start|>user\nHello!<|im_end|>\n<|im_start|>assistant\n\n");
  });

  it("keeps control tokens that a user types as text", async () => {
    const { stdout } = await run(["-p", "<|im_end|>", "-n", "1", "--json"]);
    const { prompt }: RunReport = JSON.parse(stdout);
    expect(prompt.ids.filter((id) => id === 1023)).toHaveLength(1);
  });

  it("gives the same text for the same seed", async () => {
    const argv = [
      "run",
      MODEL,
      "-p",
      "Tell me a short story about a dog.",
      "-n",
      "20",
      "-s",
      "5",
      "--temp",
      "2",
    ];
    const first = await sluice(argv, { env });
    expect(first.stdout.length).toBeGreaterThan(0);
    expect((await sluice(argv, { env })).stdout).toBe(first.stdout);
  });
});

describe("run --json", () => {
  it("prints one object of model, prompt, output, timings and memory", async () => {
    const { stdout } = await run(["-p", "What is 7 plus 5?", "--json"]);
    const report: RunReport = JSON.parse(stdout);
    expect(stdout.endsWith("}\n")).toBe(true);
    expect(Object.keys(report)).toEqual(["model", "prompt", "output", "timings", "memory"]);
    expect(report.model).toMatchObject({ architecture: "smollm3", layers: 36, dtype: "f32" });
    expect(existsSync(join(report.model.cache, "manifest.msgpack"))).toBe(true);
    expect(report.output.text).toBe("7 plus 5 is 12.");
    const { timings, memory } = report;
    expect(timings.prompt_n).toBe(report.prompt.ids.length);
    expect(timings.predicted_n).toBe(report.output.ids.length - 1);
    expect(timings.predicted_per_second).toBeCloseTo((timings.predicted_n * 1000) / timings.predicted_ms, 0);
    expect(timings.layers.map(({ layer }) => layer)).toEqual([...Array(36).keys()]);
    expect(timings.prefill_layers).toHaveLength(36);
    for (const layer of timings.layers) {
      expect(Object.keys(layer)).toEqual(["layer", "bytes", "read_ms", "wait_ms", "compute_ms"]);
    }
    expect(Object.keys(memory)).toEqual(["peak_rss_bytes", "kv_bytes", "ring_bytes", "resident_bytes"]);
    expect(memory.peak_rss_bytes).toBeGreaterThan(20e6);
    expect(memory.kv_bytes).toBeGreaterThan(0);
  });

  it("adds log-probabilities where they are asked for", async () => {
    const { stdout } = await run(["-p", "What is 7 plus 5?", "--json", "--logprobs", "3"]);
    const { output, logprobs }: RunReport = JSON.parse(stdout);
    expect(logprobs?.map(({ id }) => id)).toEqual(output.ids);
    for (const { id, logprob, top } of logprobs ?? []) {
      expect(top).toHaveLength(3);
      expect(top[0]).toEqual({ id, logprob });
      expect(top[1].logprob).toBeLessThanOrEqual(logprob);
    }
  });
});

describe("run --verbose", () => {
  it("prints the timing block and the table by layer on stderr", async () => {
    const { stdout, stderr } = await run(["-p", "What is 7 plus 5?", "--verbose"]);
    expect(stdout).toBe("7 plus 5 is 12.\n");
    expect(stderr).toMatch(/^load +\d/m);
    expect(stderr).toMatch(/^prefill +\d+ /m);
    expect(stderr).toMatch(/^decode +9 /m);
    expect(stderr).toMatch(/^layer +MB +read ms +wait ms +compute ms +MB\/s$/m);
    expect(stderr.match(/^\d+ .*$/gm)).toHaveLength(36);
    expect(stderr).toMatch(/^total /m);
  });
});

describe("the context", () => {
  it("is told when the prompt does not fit, with both numbers", async () => {
    const { code, stdout, stderr } = await run(["-p", "What is 7 plus 5?", "-c", "8"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^sluice: the prompt has \d+ tokens, and the context holds 8\n/);
  });

  it("is told when it ends an answer, which is kept", async () => {
    const argv = ["-p", "Tell me a short story about a cat.", "-c", "30"];
    const { code, stdout, stderr } = await run(argv);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Once upon a time/);
    expect(stderr).toMatch(/the context of 30 tokens is full\n {2}Raise it with -c/);
    expect(JSON.parse((await run([...argv, "--json"])).stdout).output.stop).toBe("length");
  });
});

describe("Ctrl-C", () => {
  const story = ["run", MODEL, "-p", "Tell me a short story about a cat."];

  it("stops, keeps what was printed, removes a temporary cache and exits with 130", async () => {
    const temporary = mkdtempSync(join(folder, "tmp-"));
    const { code, stdout } = await sluice([...story, "--temp-cache"], {
      env: { TMPDIR: temporary },
      onStdout: (_, child) => child.kill("SIGINT"),
    });
    expect(code).toBe(130);
    expect(stdout.length).toBeGreaterThan(0);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("still prints the JSON of what there is", async () => {
    const child = spawn(process.execPath, [MAIN, ...story, "--json", "--show-template"], {
      env: environment(env),
    });
    let stdout = "";
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
    });
    // The prompt is shown right before the model reads it.
    child.stderr.once("data", () => child.kill("SIGINT"));
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(130);
    expect(JSON.parse(stdout).output.stop).toBe("abort");
  });

  it("stops waiting for a prompt on stdin", async () => {
    const child = spawn(process.execPath, [MAIN, "run", MODEL, "-p", "-"], { env: environment(env) });
    setTimeout(() => child.kill("SIGINT"), 1000);
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(130);
  });
});

const expectedPath = new URL("../../../shared/models/tiny-chat-expected.json", import.meta.url);

describe.runIf(existsSync(expectedPath))("probabilities beside llama.cpp's", () => {
  const read = () => JSON.parse(readFileSync(expectedPath, "utf8"));

  it("agree for the first eight steps of a conversation", async () => {
    const { messages, results } = read().prompts.find(({ id }: { id: string }) => id === "p30");
    const path = join(folder, "p30.json");
    writeFileSync(path, JSON.stringify(messages));
    const { stdout } = await run(["--messages", path, "--json", "--logprobs", "10"]);
    const { logprobs }: RunReport = JSON.parse(stdout);
    const wanted: [number, number][][] = results.q8_0.top10_first_8_steps.slice(0, logprobs?.length);
    expect(wanted.length).toBeGreaterThan(4);
    for (const [step, top] of wanted.entries()) {
      const got = new Map(logprobs?.[step].top.map(({ id, logprob }) => [id, Math.exp(logprob)]));
      for (const [id, probability] of top)
        expect(Math.abs((got.get(id) ?? 0) - probability)).toBeLessThan(1.5e-2);
    }
  });
});
