import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isPromptFile } from "../../src/store/names.ts";
import { environment, MAIN, MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-prompts-"));
const root = join(folder, "root");
const env = { SLUICE_CACHE_DIR: root, SLUICE_PROMPT_CACHE: "1G" };
let cache = "";
beforeAll(async () => {
  await sluice(["unpack", MODEL, "--dtype", "q8"], { env });
  cache = join(root, readdirSync(root)[0]);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Long enough that computing it takes more than a blink on any machine. */
const LONG = "The capital of Japan is Tokyo. ".repeat(80);
const GREEDY = ["-c", "1100", "--temp", "0", "-n", "6", "-t", "1", "--dtype", "q8"];
const kept = () => readdirSync(cache).filter(isPromptFile);
const forget = () => sluice(["cache", "rm", "--prompts", "--all", "-y"], { env });

async function run(text: string, ...options: string[]) {
  const outcome = await sluice(["run", "-p", text, "--json", ...GREEDY, ...options], { env });
  expect(outcome.code, outcome.stderr).toBe(0);
  const { output, timings, prompt } = JSON.parse(outcome.stdout);
  return { ids: output.ids, cached: timings.cache_n, computed: timings.prompt_n, length: prompt.ids.length };
}

describe("the prompt cache", () => {
  it("gives run the beginning of a prompt that it had before, and is told", async () => {
    const plain = await run(LONG, "--prompt-cache", "0");
    expect(plain).toMatchObject({ cached: 0, computed: plain.length });
    expect(kept()).toEqual([]);
    const first = await run(LONG);
    expect(first).toMatchObject({ cached: 0, computed: plain.length });
    const whole = Math.floor(plain.length / 128);
    expect(kept()).toHaveLength(whole);
    const second = await run(LONG);
    expect(second).toMatchObject({ cached: whole * 128, computed: plain.length - whole * 128 });
    expect(second.ids).toEqual(plain.ids);
    // Whoever wants none uses none.
    expect(await run(LONG, "--prompt-cache", "0", "-n", "1")).toMatchObject({ cached: 0 });
    const { stderr } = await sluice(["run", "-p", LONG, "--verbose", ...GREEDY], { env });
    expect(stderr).toMatch(new RegExp(`^recalled +${whole * 128}$`, "m"));
  });

  it("is listed beside the models, and deleted with or without them", async () => {
    await run(LONG);
    const bytes = kept().length;
    const { stdout } = await sluice(["cache", "ls"], { env });
    expect(stdout).toMatch(/^name +dtype +size +layers +prompts +date\n.* 2\.95 MB +36 +[\d.]+ MB /);
    const [entry] = JSON.parse((await sluice(["cache", "ls", "--json"], { env })).stdout);
    expect(entry.promptBytes).toBe(bytes * 589884);
    expect((await sluice(["cache", "verify"], { env })).stdout).toMatch(/ok, 2\.95 MB\n$/);
    expect((await sluice(["cache", "rm", "--prompts"], { env })).code).toBe(2);
    expect((await forget()).stdout).toMatch(/^Deleted the prompts of tiny-chat.*\n$/);
    expect(kept()).toEqual([]);
    expect((await forget()).stdout).toBe("");
    await run(LONG);
    await sluice(["cache", "rm", "--all", "-y"], { env });
    expect(readdirSync(root)).toEqual([]);
    await sluice(["unpack", MODEL, "--dtype", "q8"], { env });
  });

  it("serves chat as well", async () => {
    await forget();
    const argv = ["chat", "--system", LONG, "--verbose", ...GREEDY];
    const [first, second] = [
      await sluice(argv, { env, input: "Hello\n" }),
      await sluice(argv, { env, input: "What is 7 plus 5?\nHello\n" }),
    ];
    expect(first.stderr).not.toMatch(/recalled/);
    // The second question goes on where the first answer was.
    expect(second.stderr.match(/recalled +\d+/g)).toHaveLength(1);
    const plain = await sluice([...argv, "--prompt-cache", "0"], {
      env,
      input: "What is 7 plus 5?\nHello\n",
    });
    expect(second.stdout).toBe(plain.stdout);
  });

  it("serves batch with what its prompts share", async () => {
    await forget();
    const [input, output] = [join(folder, "in.jsonl"), join(folder, "out.jsonl")];
    const prompts = ["What is 7 plus 5?", "Hello!", "What colour is grass?"].map((text) => LONG + text);
    writeFileSync(input, prompts.map((prompt) => `${JSON.stringify({ prompt })}\n`).join(""));
    const argv = ["batch", input, "-o", output, "--force", ...GREEDY];
    const first = await sluice(argv, { env });
    expect(first.stderr).not.toMatch(/prompt cache/);
    const second = await sluice(argv, { env });
    expect(second.stderr).toMatch(
      /; \d+ tokens of prompts computed only once; \d+ tokens of prompts from the prompt cache/,
    );
    const result = await run(prompts[1]);
    expect(result.cached).toBe(kept().length * 128);
  });

  it.runIf(process.platform !== "win32")(
    "does without where there is no room, and says so once",
    async () => {
      await forget();
      const script = `trap '' XFSZ; ulimit -f 300; exec "$0" "$@"`;
      const argv = ["-c", script, process.execPath, MAIN, "run", "-p", LONG, ...GREEDY];
      const { status, stdout, stderr } = spawnSync("bash", argv, { env: environment(env), encoding: "utf8" });
      expect(status).toBe(0);
      expect(stdout).not.toBe("");
      expect(stderr.match(/prompts are not kept/g)).toHaveLength(1);
      expect(readdirSync(cache).filter((name) => name.startsWith("prompt-"))).toEqual([]);
    },
  );

  it("wants a size", async () => {
    expect(await sluice(["run", "-p", "x", "--prompt-cache", "much"], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("It must be a size as 800M or 2.5G."),
    });
    const wrong = await sluice(["run", "-p", "x"], { env: { ...env, SLUICE_PROMPT_CACHE: "auto" } });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("SLUICE_PROMPT_CACHE") });
  });
});
