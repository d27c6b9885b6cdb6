import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { environment, MAIN, MODEL, sluice } from "./spawn.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-kv-ram-"));
const env = { SLUICE_CACHE_DIR: root };
beforeAll(async () => {
  await sluice(["unpack", MODEL, "--dtype", "q8"], { env });
});
afterAll(() => rmSync(root, { recursive: true }));

const ASK = ["-p", "What is the capital of Japan?", "--temp", "0", "-c", "512", "--dtype", "q8"];

describe("--kv-ram", () => {
  it("says the same, in less memory, and leaves nothing behind", async () => {
    const run = async (...options: string[]) => {
      const { code, stdout, stderr } = await sluice(["run", ...ASK, "--json", ...options], { env });
      expect(code, stderr).toBe(0);
      return JSON.parse(stdout);
    };
    const [plain, some, least] = [await run(), await run("--kv-ram", "500k"), await run("--kv-ram", "70k")];
    expect(plain.output.text).toBe("The capital of Japan is Tokyo.");
    expect(some.output).toEqual(plain.output);
    expect(least.output).toEqual(plain.output);
    expect(some.memory.kv_bytes).toBeLessThan(plain.memory.kv_bytes);
    // One window of one layer for a block.
    expect(least.memory.kv_bytes).toBe(plain.memory.kv_bytes / 36);
    expect(readdirSync(root)).toHaveLength(1);
  });

  it("is refused where it is too little, or no size", async () => {
    const little = await sluice(["run", ...ASK, "--kv-ram", "1k"], { env });
    expect(little.code).toBe(1);
    expect(little.stderr).toMatch(
      /--kv-ram 1\.00 kB is less than one layer's keys and values of 512 tokens, 65\.5 kB\n.*-c/,
    );
    expect((await sluice(["run", ...ASK, "--kv-ram", "auto"], { env })).code).toBe(2);
  });

  it.runIf(process.platform !== "win32")("tells where the file cannot grow", () => {
    const script = `trap '' XFSZ; ulimit -f 20; exec "$0" "$@"`;
    const argv = ["-c", script, process.execPath, MAIN, "run", ...ASK, "--kv-ram", "70k"];
    const { status, stderr } = spawnSync("bash", argv, { env: environment(env), encoding: "utf8" });
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /sluice: cannot write keys and values to the disk: the file would be larger than allowed\n/,
    );
    expect(readdirSync(root)).toHaveLength(1);
  });

  it("is planned for", async () => {
    const { stdout } = await sluice(["plan", MODEL, "-c", "512", "--kv-ram", "70k"], { env });
    expect(stdout).toMatch(
      /--kv-ram \(with q8, f16\): 65\.5 kB in memory for 512 tokens, those of 0 of 36 layers stay/,
    );
  });

  it("serves bench", async () => {
    const argv = [
      "bench",
      MODEL,
      "--dtype",
      "q8",
      "-p",
      "64",
      "-n",
      "2",
      "-r",
      "1",
      "-o",
      "json",
      "--kv-ram",
      "70k",
    ];
    const { code, stderr } = await sluice(argv, { env });
    expect(code, stderr).toBe(0);
  });
});
