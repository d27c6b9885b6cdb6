import { spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { environment, MAIN, MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-batch-"));
const env = { SLUICE_CACHE_DIR: join(folder, "cache") };
const at = (name: string) => join(folder, name);
const batch = (argv: readonly string[], input?: string) =>
  sluice(["batch", ...argv], { env, ...(input !== undefined && { input }) });
const write = (name: string, content: string | Uint8Array) => {
  writeFileSync(at(name), content);
  return at(name);
};
const read = (name: string) => readFileSync(at(name), "utf8");
const results = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

beforeAll(async () => {
  const { code, stderr } = await sluice(["unpack", MODEL, "--dtype", "q8"], { env });
  expect(code, stderr).toBe(0);
});
afterAll(() => rmSync(folder, { recursive: true }));

const QUESTIONS = [
  "What is the capital of Japan?",
  "What is 7 plus 5?",
  "How do you say hello in Japanese?",
  "Hello!",
  "What colour is grass?",
  "Tell me a story.",
];

describe("batch", () => {
  it("gives for each line what run gives for it alone", async () => {
    const lines: readonly (readonly [line: unknown, argv: readonly string[]])[] = [
      [QUESTIONS[0], ["-p", QUESTIONS[0]]],
      [{ prompt: QUESTIONS[1], temperature: 0 }, ["-p", QUESTIONS[1], "--temp", "0"]],
      [
        { prompt: QUESTIONS[5], seed: 3, temperature: 1.5, top_p: 1, top_k: 0, min_p: 0 },
        ["-p", QUESTIONS[5], "-s", "3", "--temp", "1.5", "--top-p", "1", "--top-k", "0", "--min-p", "0"],
      ],
      [
        { prompt: QUESTIONS[4], system: "You are a pirate." },
        ["-p", QUESTIONS[4], "--system", "You are a pirate."],
      ],
      [{ prompt: QUESTIONS[0], max_tokens: 3 }, ["-p", QUESTIONS[0], "-n", "3"]],
      [{ prompt: QUESTIONS[0], stop: "Tokyo", id: null }, ["-p", QUESTIONS[0], "--stop", "Tokyo"]],
      [
        { prompt: QUESTIONS[5], repeat_penalty: 1.3, repeat_last_n: 8, max_tokens: null },
        ["-p", QUESTIONS[5], "--repeat-penalty", "1.3", "--repeat-last-n", "8"],
      ],
    ];
    write("alone.jsonl", lines.map(([line]) => `${JSON.stringify(line)}\n`).join(""));
    const outcome = await batch([at("alone.jsonl"), "-o", at("alone.out"), "--seed", "7", "-n", "60"]);
    expect(outcome).toMatchObject({ code: 0, stdout: "" });
    expect(outcome.stderr).toMatch(/7 answers in .* up to 7 sequences at a time/);
    const got = results(read("alone.out"));
    for (const [index, [, argv]] of lines.entries()) {
      const { stdout } = await sluice(["run", "--seed", "7", "-n", "60", "--json", ...argv], { env });
      const { output, prompt } = JSON.parse(stdout);
      expect(got[index]).toEqual({
        index,
        id: index + 1,
        text: output.text,
        finish_reason: output.stop === "length" ? "length" : "stop",
        ...(output.stop_text && { stop_text: output.stop_text }),
        usage: {
          prompt_tokens: prompt.ids.length,
          completion_tokens: output.ids.length,
          total_tokens: prompt.ids.length + output.ids.length,
        },
        key: expect.stringMatching(/^[0-9a-f]{16}$/),
      });
    }
    expect(got[0].text).toBe("The capital of Japan is Tokyo.");
    expect(got[5]).toMatchObject({ text: "The capital of Japan is ", stop_text: "Tokyo" });
  });

  it("tells errors in their place, keeps ids and other fields, and goes on", async () => {
    const lines = [
      '{"id": "a", "prompt": "Hello!", "topic": {"deep": [1]}}',
      "no json",
      "",
      '{"id": "c", "prompt": "Hello!", "messages": []}',
      '{"id": 12, "messages": [{"role": "user"}]}',
      '{"prompt": ""}',
      '{"prompt": "Hello!", "temperature": "warm"}',
      '{"prompt": "Hello!", "top_p": 2}',
      '{"prompt": "Hello!", "max_tokens": 0}',
      "[1]",
      JSON.stringify("word ".repeat(9000)),
      '{"id": "last", "messages": [{"role": "user", "content": "Hello!"}], "chat_template_kwargs": {"x": 1}}',
    ];
    const { code, stdout, stderr } = await batch(["--temp", "0"], lines.join("\n"));
    expect(code).toBe(0);
    expect(stderr).toContain('line 1: "topic" means nothing here');
    const got = results(stdout).sort((a, b) => a.index - b.index);
    expect(got.map(({ id, error, text }) => [id, error?.message ?? text])).toEqual([
      ["a", "Hello! How can I help you today?"],
      [2, expect.stringContaining("the line is not JSON")],
      ["c", "it has both a prompt and messages"],
      [12, "messages: message 1 of 1 has no content"],
      [6, "the prompt is empty"],
      [7, 'temperature is "warm", but must be a number'],
      [8, "top-p is 2, but must be a number from 0 to 1"],
      [9, "max_tokens is 0, but must be a whole number from 1 up, or -1"],
      [10, 'the line is neither a text nor an object with "prompt" or "messages"'],
      [11, expect.stringMatching(/tokens/)],
      ["last", "Hello! How can I help you today?"],
    ]);
    expect(got[0].fields).toEqual({ topic: { deep: [1] } });
    expect(got[9].error.code).toBe("context-full");
  });

  it("takes texts with marks, carriage returns, empty lines, broken characters and no end", async () => {
    const bytes = Buffer.from("\ufeffHello!\r\n\r\n\r\nWhat is 7 plus 5?\r\nHello!\xff\nHello!", "latin1");
    const text = Buffer.concat([Buffer.from("\ufeff"), bytes.subarray(1)]);
    const file = write("odd.txt", text);
    const { stdout, code } = await batch([MODEL, file, "--temp", "0"]);
    expect(code).toBe(0);
    const got = results(stdout).sort((a, b) => a.index - b.index);
    expect(got.map(({ id, usage }) => [id, usage.prompt_tokens])).toEqual([
      [1, 10],
      [4, 16],
      [5, expect.any(Number)],
      [6, 10],
    ]);
    write("wide.jsonl", Buffer.from('\ufeff"Hello!"', "utf16le"));
    expect(await batch([at("wide.jsonl")])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("UTF-16"),
    });
    expect(
      await batch(["--no-template", "--in-format", "txt", "-n", "2", "--temp", "0"], "Once"),
    ).toMatchObject({
      code: 0,
    });
    expect((await batch([], "")).stderr).toContain("there are no prompts");
  });
});

describe("batch of CSV", () => {
  const csv = 'name,prompt,max_tokens,text\n"Doe, Jane","What is\n7 plus 5?",,x\nJoe,Hello!,2,"say ""y"""\n';

  it("keeps the columns, and adds its own", async () => {
    const { code } = await batch([write("in.csv", csv), "-o", at("out.csv"), "--temp", "0"]);
    expect(code).toBe(0);
    const rows = read("out.csv");
    expect(rows).toMatch(
      /^name,prompt,max_tokens,text,id,index,sluice_text,finish_reason,stop_text,prompt_tokens,completion_tokens,error,key\n/,
    );
    expect(rows).toMatch(
      /\n"Doe, Jane","What is\n7 plus 5\?",,x,2,0,7 plus 5 is 12\.,stop,,16,10,,[0-9a-f]{16}\n/,
    );
    expect(rows).toMatch(/\nJoe,Hello!,2,"say ""y""",4,1,Hello!,length,,10,2,,[0-9a-f]{16}\n$/);
    const lines = await batch([at("in.csv"), "--out-format", "jsonl", "--temp", "0"]);
    expect(results(lines.stdout).find(({ index }) => index === 1)).toMatchObject({
      fields: { name: "Joe", text: 'say "y"' },
    });
  });

  it("refuses what is none", async () => {
    const without = await batch([write("without.csv", "a,b\n1,2\n")]);
    expect(without.stderr).toContain("has no column prompt, only a, b");
    const open = await batch([write("open.csv", 'prompt\n"Hello!\n'), "--temp", "0"]);
    expect(open).toMatchObject({ code: 1, stderr: expect.stringContaining("no sound CSV") });
  });

  it("goes on wherever it was cut", async () => {
    const whole = readFileSync(at("out.csv"));
    for (const length of [1, 40, 140, whole.indexOf("\n7 plus") + 3, whole.length - 30, whole.length - 1]) {
      writeFileSync(at("cut.csv"), whole.subarray(0, length));
      const { code, stderr } = await batch([at("in.csv"), "-o", at("cut.csv"), "--temp", "0"]);
      expect(code, stderr).toBe(0);
      expect(read("cut.csv")).toBe(whole.toString());
    }
  });
});

describe("batch that was stopped", () => {
  const argv = ["--seed", "4", "-n", "30", "--parallel", "3"];
  const input = at("many.jsonl");
  let whole = "";
  beforeAll(async () => {
    const lines = Array.from({ length: 24 }, (_, i) =>
      JSON.stringify({ id: `q${i}`, prompt: QUESTIONS[i % 6] }),
    );
    writeFileSync(input, `${lines.join("\n")}\n`);
    const { code, stderr } = await batch([input, "-o", at("whole.jsonl"), ...argv]);
    expect(code, stderr).toBe(0);
    whole = read("whole.jsonl");
    expect(results(whole).map(({ index }) => index)).toEqual(Array.from({ length: 24 }, (_, i) => i));
  });

  it("goes on wherever its output was cut, does nothing twice, and nothing where all is done", async () => {
    for (const length of [0, 3, 700, whole.length - 1]) {
      writeFileSync(at("cut.jsonl"), whole.slice(0, length));
      const done = whole.slice(0, length).split("\n").length - 1;
      const { code, stderr } = await batch([input, "-o", at("cut.jsonl"), ...argv]);
      expect(code, stderr).toBe(0);
      if (done > 0) expect(stderr).toContain(`${done} of 24 are done already`);
      expect(stderr).toContain(`${24 - done} answer`);
      expect(read("cut.jsonl")).toBe(whole);
    }
    const again = await batch([input, "-o", at("cut.jsonl"), ...argv, "--threads", "1", "--parallel", "2"]);
    expect(again.stderr).toContain("all 24 are done already");
    expect(read("cut.jsonl")).toBe(whole);
  });

  it("gives the same after it was killed at any moment", async () => {
    let killed = 0;
    for (const wait of [300, 700, 900, 1100, 1300]) {
      const child = spawn(process.execPath, [MAIN, "batch", input, "-o", at("killed.jsonl"), ...argv], {
        env: environment(env),
        stdio: "ignore",
      });
      const ended = new Promise((resolve) => child.on("exit", (_, signal) => resolve(signal)));
      setTimeout(() => child.kill("SIGKILL"), wait);
      if ((await ended) === "SIGKILL") killed++;
    }
    expect(killed).toBeGreaterThan(0);
    const { code, stderr } = await batch([input, "-o", at("killed.jsonl"), ...argv]);
    expect(code, stderr).toBe(0);
    expect(read("killed.jsonl")).toBe(whole);
  });

  it("refuses the output of another run, and anything else that is there", async () => {
    const untouched = async (name: string, content: string, extra: readonly string[], reason: string) => {
      write(name, content);
      const { code, stderr } = await batch([input, "-o", at(name), ...argv, ...extra]);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(reason) });
      expect(stderr).toContain("--force");
      expect(read(name)).toBe(content);
    };
    await untouched("other.jsonl", whole, ["--temp", "0"], "another prompt, model or option");
    await untouched("other.jsonl", whole, ["--shard", "1/2"], "prompts that are not asked for");
    await untouched("other.jsonl", "my notes", [], "something else than results");
    await untouched("other.jsonl", '{"index":1}\n', [], "something else than results");
    await untouched("other.jsonl", `${whole}${whole}`, [], "two results of prompt 1");
    await untouched("other.csv", "prompt\nHello!\n", [], "something else than results");
    expect((await batch([input, "-o", input])).stderr).toContain("this command reads it");
    expect(await batch([input, "-o", at("nowhere/out.jsonl")])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no such file or folder"),
    });
    expect(existsSync(at("nowhere"))).toBe(false);
    write("other.jsonl", "my notes");
    expect(await batch([input, "-o", at("other.jsonl"), ...argv, "--force"])).toMatchObject({ code: 0 });
    expect(read("other.jsonl")).toBe(whole);
  });

  it("goes on with an input that has grown", async () => {
    const longer = write("longer.jsonl", readFileSync(input));
    write("longer.out", whole);
    appendFileSync(longer, '"Hello!"\n');
    const { stderr } = await batch([longer, "-o", at("longer.out"), ...argv]);
    expect(stderr).toContain("24 of 25 are done already");
    expect(read("longer.out").startsWith(whole)).toBe(true);
    expect(results(read("longer.out"))).toHaveLength(25);
    truncateSync(longer, 0);
  });

  it("ends at Ctrl-C with what is done, and says how to go on", async () => {
    const out = at("stopped.jsonl");
    const child = spawn(process.execPath, [MAIN, "batch", input, "-o", out, ...argv], {
      env: environment(env),
    });
    let stderr = "";
    child.stderr.on("data", (text) => {
      stderr += text;
    });
    const ended = new Promise((resolve) => child.on("close", resolve));
    const some = setInterval(() => {
      try {
        if (readFileSync(out).length > 0) child.kill("SIGINT");
      } catch {
        // It is not there yet.
      }
    }, 5);
    expect(await ended).toBe(130);
    clearInterval(some);
    expect(stderr).toMatch(/stopped: \d+ of 24 done\n {2}The same command goes on from there\./);
    expect(readFileSync(out, "utf8")).toMatch(/^(\{.*\}\n)+$/);
    expect(await batch([input, "-o", out, ...argv])).toMatchObject({ code: 0 });
    expect(readFileSync(out, "utf8")).toBe(whole);
  });

  it("shares a file out", async () => {
    for (const shard of ["1/3", "2/3", "3/3"])
      expect((await batch([input, "-o", at(`${shard[0]}.jsonl`), ...argv, "--shard", shard])).code).toBe(0);
    const all = ["1", "2", "3"].flatMap((shard) => read(`${shard}.jsonl`).trimEnd().split("\n"));
    expect(all.sort()).toEqual(whole.trimEnd().split("\n").sort());
    for (const [shard, said] of [
      ["0/3", "1/3 to 3/3"],
      ["3", "It must be like 1/4"],
    ])
      expect(await batch([input, "--shard", shard])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(said),
      });
    expect((await batch([input, "-o", at("none.jsonl"), "--shard", "30/30"])).stderr).toContain(
      "there are no prompts",
    );
  });

  describe.runIf(spawnSync("parallel", ["--version"]).stdout?.toString().startsWith("GNU parallel"))(
    "with GNU parallel",
    () => {
      it("is spread over processes", async () => {
        const command = [
          process.execPath,
          MAIN,
          "batch",
          input,
          "--shard",
          "{}/3",
          "-o",
          at("p{}.jsonl"),
          ...argv,
        ];
        const child = spawn("parallel", ["--will-cite", "--jobs", "2", ...command, ":::", "1", "2", "3"], {
          env: environment(env),
        });
        expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
        const all = ["p1", "p2", "p3"].flatMap((name) => read(`${name}.jsonl`).trimEnd().split("\n"));
        expect(all.sort()).toEqual(whole.trimEnd().split("\n").sort());
      });
    },
  );
});
