import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { makeModel, PRESETS } from "../../scripts/synthetic/model.mjs";
import { environment, MAIN, MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-unpack-"));
afterAll(() => rmSync(folder, { recursive: true }));

let roots = 0;
const freshRoot = () => join(folder, `root-${roots++}`);
const fields = (stdout: string) => JSON.parse(stdout);

describe("unpack", () => {
  it("writes a line per tenth, a table of stages, where it is and what other dtypes cost", async () => {
    const root = freshRoot();
    const first = await sluice(["unpack", MODEL, "--cache-dir", root]);
    expect(first.code, first.stderr).toBe(0);
    expect(first.stderr).toMatch(/^Unpacking 7\.64 MB in 38 files to .*-f32\n/);
    const lines = first.stderr.match(/^ *\d+ % {2}[\d.]+ [kM]B of 7\.64 MB {2}[\w-]+\.bin$/gm)!;
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.length).toBeLessThanOrEqual(10);
    expect(lines.at(-1)).toBe("100 %  7.64 MB of 7.64 MB  output.bin");
    expect(first.stderr).not.toContain("\x1b");
    expect(first.stdout).toMatch(/^file +MB +read ms +dequantize ms +encode ms +write ms +total ms +MB\/s$/m);
    expect(first.stdout.match(/^layer-\d\d( +[\d.]+){7}$/gm)).toHaveLength(36);
    expect(first.stdout).toContain(`to ${join(root, readdirSync(root)[0])}\n`);
    expect(first.stdout).toContain("With --dtype q8 its weights would take 2.88 MB instead of 7.64 MB.");

    const second = await sluice(["unpack", MODEL, "--cache-dir", root]);
    expect(second).toMatchObject({ code: 0, stderr: "" });
    expect(second.stdout).toMatch(/^Already unpacked: Tiny-SmolLM3-Chat, 36 layers, f32, 7\.67 MB\nin /);
  });

  it("says what native cannot keep, and of other dtypes only those that save something", async () => {
    const path = join(folder, "q1.gguf");
    makeModel(path, { ...PRESETS["tiny"], type: "q1_0", width: 128, feedForward: 256, layers: 1 });
    const { stdout } = await sluice(["unpack", path, "--dtype", "native", "--cache-dir", freshRoot()]);
    expect(stdout).toContain("\nRounded to q8, for native cannot hold them: 8 q1_0 matrices.\n");
    expect(stdout).not.toContain("With --dtype");
  });

  it("prints one JSON object with --json", async () => {
    const { stdout } = await sluice(["unpack", MODEL, "--dtype", "q8", "--json", "--cache-dir", freshRoot()]);
    const result = fields(stdout);
    expect(result).toMatchObject({
      reused: false,
      resumed: 0,
      dtype: "q8",
      compression: "none",
      source: { name: "tiny-chat-q8_0.gguf", bytes: 2016128 },
      weight_bytes: { f32: 7639040, native: 2875392, f16: 3969024, q8: 2875392 },
    });
    expect(result.files).toHaveLength(38);
    expect(`${result.ms}`).toMatch(/^\d+(\.\d{1,3})?$/);
    const { readMs, dequantizeMs, encodeMs, writeMs, ms } = result.files[1];
    expect(readMs + dequantizeMs + encodeMs + writeMs).toBeCloseTo(ms, 6);
  });

  it("obeys SLUICE_CACHE_DIR, and refuses what it does not know", async () => {
    const root = freshRoot();
    await sluice(["unpack", MODEL], { env: { SLUICE_CACHE_DIR: root } });
    expect(readdirSync(root)).toHaveLength(1);
    expect((await sluice(["unpack", MODEL, "--dtype", "q3"])).code).toBe(2);
    const missing = await sluice(["unpack", "nowhere.gguf"]);
    expect(missing.code).toBe(1);
    expect(missing.stderr).toMatch(/^sluice: .*nowhere\.gguf/);
  });

  it("removes a temporary cache at the end, also after Ctrl-C", async () => {
    const TMPDIR = freshRoot();
    mkdirSync(TMPDIR);
    const env = { TMPDIR };
    const { code, stdout } = await sluice(["unpack", MODEL, "--temp"], { env });
    expect(code).toBe(0);
    expect(stdout).toContain(`to ${join(TMPDIR, "sluice-")}`);
    expect(stdout).toMatch(/, which is removed at the end$/m);
    expect(readdirSync(TMPDIR)).toEqual([]);

    const child = spawn(process.execPath, [MAIN, "unpack", MODEL, "--temp"], { env: environment(env) });
    child.stderr.once("data", () => child.kill("SIGINT"));
    const end = await new Promise((resolve) => child.on("close", resolve));
    expect(end).toBe(130);
    expect(readdirSync(TMPDIR)).toEqual([]);
  });

  it("takes its claim on the folder back when the terminal goes", async () => {
    const root = freshRoot();
    const child = spawn(process.execPath, [MAIN, "unpack", MODEL, "--cache-dir", root], {
      env: environment(),
    });
    child.stderr.on("data", (data) => {
      if (!child.killed && /layer-0/.test(data)) child.kill("SIGHUP");
    });
    const signal = await new Promise((resolve) => child.on("close", (_, name) => resolve(name)));
    expect(signal).toBe("SIGHUP");
    expect(readdirSync(root).filter((name) => name.includes(".lock"))).toEqual([]);
  });

  it("makes no folder for a model that it refuses", async () => {
    const root = freshRoot();
    const broken = join(folder, "broken.gguf");
    makeModel(broken, PRESETS["tiny"]);
    const bytes = readFileSync(broken);
    bytes[bytes.indexOf("embedding_length")]++;
    writeFileSync(broken, bytes);
    const { code, stderr } = await sluice(["unpack", broken, "--cache-dir", root]);
    expect(code, stderr).toBe(1);
    expect(existsSync(root)).toBe(false);
  });

  it.runIf(process.platform === "linux")("knows a limit on the size of files from a full disk", async () => {
    const command = 'ulimit -f 200; exec "$0" "$@"';
    const argv = ["-c", command, process.execPath, MAIN, "unpack", MODEL, "--cache-dir", freshRoot()];
    const { status, stderr } = spawnSync("sh", argv, { env: environment(), encoding: "utf8" });
    expect(status).toBe(1);
    expect(stderr).toMatch(/larger than allowed.*\n.*ulimit -f/);
    expect(stderr).not.toMatch(/Free some space/);
  });

  it("says after Ctrl-C that the same command continues", async () => {
    const root = freshRoot();
    const child = spawn(process.execPath, [MAIN, "unpack", MODEL, "--cache-dir", root], {
      env: environment(),
    });
    let stderr = "";
    child.stderr.on("data", (data) => {
      if (!child.killed && /layer-0/.test(data)) child.kill("SIGINT");
      stderr += data;
    });
    expect(await new Promise((resolve) => child.on("close", resolve)), stderr).toBe(130);
    expect(stderr).toContain("continues where it stopped");
    const { stdout } = await sluice(["unpack", MODEL, "--json", "--cache-dir", root]);
    expect(fields(stdout).resumed).toBeGreaterThan(0);
  });
});

describe("which cache a command takes", () => {
  const run = (root: string, ...argv: string[]) =>
    sluice(["run", MODEL, "-p", "Hello!", "-n", "1", "--temp", "0", "--json", "--cache-dir", root, ...argv]);
  const dtypeOf = async (...argv: Parameters<typeof run>) => {
    const { stdout, stderr } = await run(...argv);
    return [fields(stdout).model.dtype, stderr];
  };

  it("f32 if it is there, else whatever is, and as asked for in any case", async () => {
    const root = freshRoot();
    await sluice(["unpack", MODEL, "--dtype", "q8", "--cache-dir", root]);
    expect(await dtypeOf(root)).toEqual(["q8", expect.stringContaining("using the weights unpacked as q8")]);
    expect(await dtypeOf(root, "--dtype", "f32")).toEqual(["f32", expect.stringContaining("Unpacking")]);
    expect(await dtypeOf(root)).toEqual(["f32", ""]);
    expect(await dtypeOf(root, "--dtype", "q8")).toEqual(["q8", ""]);
    const [name] = readdirSync(root).filter((entry) => entry.endsWith("-q8"));
    const { stdout } = await sluice(["run", join(root, name), "-p", "Hi", "-n", "1", "--json"]);
    expect(fields(stdout).model.dtype).toBe("q8");
    expect((await sluice(["run", join(root, name), "-p", "Hi", "--dtype", "f32"])).code).toBe(1);
  });

  it("a temporary one leaves the root alone", async () => {
    const root = freshRoot();
    expect((await dtypeOf(root, "--temp-cache"))[0]).toBe("f32");
    expect(existsSync(root)).toBe(false);
  });
});

const PYTHON = spawnSync("python3", ["-c", "import pty"]).status === 0;

describe.runIf(PYTHON)("unpack on a terminal", () => {
  const terminal = (argv: readonly string[], env: Record<string, string> = {}) => {
    const script = fileURLToPath(new URL("terminal.py", import.meta.url));
    const job = { argv: [process.execPath, MAIN, ...argv], steps: [], timeout: 60 };
    const { stdout } = spawnSync("python3", [script, JSON.stringify(job)], {
      env: environment(env),
      encoding: "utf8",
    });
    return JSON.parse(stdout) as { output: string; code: number };
  };
  const path = join(folder, "bars.gguf");

  it("shows a bar for all and one for the file, and gives the terminal back as it was", () => {
    makeModel(path, { ...PRESETS["tiny"], type: "f32", width: 512, feedForward: 2048, layers: 8 });
    const { output, code } = terminal(["unpack", path, "--dtype", "f32", "--cache-dir", freshRoot()]);
    expect(code, output).toBe(0);
    expect(output).toMatch(/all +█*░* +\d+% {2}[\d.]+ [kMG]B of [\d.]+ MB/);
    expect(output).toMatch(/layer-0\d\.bin +█*░* +\d+%/);
    for (const [change, back] of [
      ["\x1b[?7l", "\x1b[?7h"],
      ["\x1b[?25l", "\x1b[?25h"],
    ])
      expect(output.split(change).length).toBe(output.split(back).length);
  });

  it.each([{ CI: "1" }, { TERM: "dumb" }])("writes plain lines with %o", (env) => {
    const { output } = terminal(["unpack", MODEL, "--cache-dir", freshRoot()], env);
    expect(output).not.toContain("\x1b");
    expect(output).toContain("100 %  7.64 MB of 7.64 MB  output.bin");
  });
});
