import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { environment, MAIN, MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-choice-"));
afterAll(() => rmSync(folder, { recursive: true }));

// About the model that comes with sluice nobody is asked: this is another one.
const path = join(folder, "model.gguf");
copyFileSync(MODEL, path);

const PYTHON = spawnSync("python3", ["-c", "import pty"]).status === 0;
const QUESTION = "Which one? [q8] ";

describe.runIf(PYTHON)("the first unpack on a terminal", () => {
  const terminal = (argv: string[], answers: string[] = [], env: Record<string, string> = {}) => {
    const script = fileURLToPath(new URL("terminal.py", import.meta.url));
    const steps = answers.map((send) => ({ wait: QUESTION, send }));
    const job = { argv: [process.execPath, MAIN, ...argv], steps, timeout: 60 };
    const options = { env: environment(env), encoding: "utf8" } as const;
    const { stdout } = spawnSync("python3", [script, JSON.stringify(job)], options);
    return JSON.parse(stdout) as { output: string; code: number; missed: string[] };
  };

  it.each([
    ["Ctrl-C", "\x03"],
    ["Ctrl-D", "\x04"],
  ])("unpacks nothing after %s", (_name, key) => {
    const root = join(folder, "none");
    const { output, code } = terminal(["unpack", path, "--cache-dir", root], [key]);
    expect(output).toMatch(/q8 \(recommended\) +2\.91 MB .* exact/);
    expect(output).toContain("sluice: nothing was unpacked");
    expect(code).toBe(130);
    expect(existsSync(root)).toBe(false);
  });

  it("takes Enter for the recommended dtype, asks again for what is none, and does not ask twice", () => {
    const root = join(folder, "chosen");
    const argv = ["run", path, "-p", "Hi", "-n", "1", "--cache-dir", root];
    const first = terminal(argv, ["q3\r", "\r"]);
    expect(first, first.output).toMatchObject({ code: 0, missed: [] });
    expect(first.output).toContain("Type one of f32, f16, q8, or just Enter.");
    expect(readdirSync(root)).toEqual([expect.stringMatching(/-q8$/)]);
    const second = terminal(["unpack", path, "--cache-dir", root]);
    expect(second.output).not.toContain("Which one?");
    expect(second.output).toContain("Already unpacked: Tiny-SmolLM3-Chat, 36 layers, q8");
  });

  it("asks nothing with --dtype, with CI, or about the bundled model", () => {
    const silent = (argv: string[], env = {}) => {
      const root = mkdtempSync(join(folder, "root-"));
      const { output, code } = terminal([...argv, "--cache-dir", root], [], env);
      expect(code, output).toBe(0);
      expect(output).not.toContain("Which one?");
      return readdirSync(root);
    };
    expect(silent(["unpack", path, "--dtype", "f16"])).toEqual([expect.stringMatching(/-f16$/)]);
    expect(silent(["unpack", path], { CI: "1" })).toEqual([expect.stringMatching(/-f32$/)]);
    expect(silent(["unpack", MODEL])).toEqual([expect.stringMatching(/-f32$/)]);
  });
});

it("unpacks as f32, unasked, where there is no terminal", async () => {
  const root = join(folder, "piped");
  const { code, stderr } = await sluice(["unpack", path, "--cache-dir", root]);
  expect(code, stderr).toBe(0);
  expect(readdirSync(root)).toEqual([expect.stringMatching(/-f32$/)]);
});
