import { execFileSync, spawnSync } from "node:child_process";
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { environment, MAIN, MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-logits-"));
afterAll(() => rmSync(folder, { recursive: true }));

const env = { SLUICE_CACHE_DIR: join(folder, "cache") };
const VOCABULARY = 1024;
// "<|im_start|>user\nWhat is the capital of Japan?<|im_end|>\n<|im_start|>assistant\n"
const IDS = "1022,266,10,287,267,279,313,283,979,63,1023,10,1022,265,10";
const logits = (ids: string, out: string) => sluice(["logits", MODEL, "--ids", ids, "--out", out], { env });

function argmax(row: Float32Array): number {
  return row.indexOf(Math.max(...row));
}

it("writes float32 logits of every position, to a file and to stdout alike", async () => {
  const path = join(folder, "logits.bin");
  expect(await logits(IDS, path)).toMatchObject({ code: 0, stdout: "" });
  const bytes = readFileSync(path);
  expect(bytes.length).toBe(15 * VOCABULARY * 4);
  const values = Float32Array.from({ length: 15 * VOCABULARY }, (_, index) => bytes.readFloatLE(index * 4));
  // The model goes on with "The", and expects the line break after "<|im_end|>".
  expect(argmax(values.subarray(14 * VOCABULARY))).toBe(293);
  expect(argmax(values.subarray(10 * VOCABULARY, 11 * VOCABULARY))).toBe(10);
  const piped = await logits(IDS, "-");
  expect(piped.bytes.equals(bytes)).toBe(true);
  expect(readdirSync(folder).sort()).toEqual(["cache", "logits.bin"]);
});

it.each([
  ["5,1024", /token 1024 is not in the vocabulary of 1024 tokens/],
  [Array(1025).fill(1).join(), /1025 ids, and the context holds 1024 tokens/],
])("refuses ids %s", async (ids, message) => {
  const { code, stderr } = await logits(ids, join(folder, "refused.bin"));
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
  expect(readdirSync(folder)).not.toContain("refused.bin");
});

it("names a file that cannot be written and leaves nothing behind", async () => {
  const { code, stderr } = await logits("1,2", join(folder, "no", "such", "folder.bin"));
  expect(code).toBe(1);
  expect(stderr).toMatch(/^sluice: cannot write .*folder\.bin: no such file or folder/m);
});

it("writes what a link leads to, and leaves the link", async () => {
  const real = join(folder, "real.bin");
  const link = join(folder, "link.bin");
  symlinkSync("real.bin", link);
  for (const ids of ["1", "1,2"]) {
    expect(await logits(ids, link)).toMatchObject({ code: 0 });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(real).length).toBe(ids.split(",").length * VOCABULARY * 4);
  }
});

describe.runIf(process.platform === "linux")("into what is no file", () => {
  it("a link to a device: it stays one, and a full one is told", async () => {
    const link = join(folder, "device");
    symlinkSync("/dev/full", link);
    const { code, stderr } = await logits("1,2", link);
    expect(code).toBe(1);
    expect(stderr).toMatch(/cannot write .*: the disk is full\n {2}Check the path given with --out\./);
    expect(lstatSync("/dev/full").isCharacterDevice()).toBe(true);
  });

  it("a pipe, as soon as somebody reads it", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const writing = logits("1,2", pipe);
    const reading = sluice(["tokenize", MODEL, "-f", pipe, "--json"]);
    const stderr = `The logits are ${pipe}: 2 positions of 1024 float32 values\n`;
    expect(await writing).toMatchObject({ code: 0, stderr });
    expect(JSON.parse((await reading).stdout).ids.length).toBeGreaterThan(1000);
    expect(lstatSync(pipe).isFIFO()).toBe(true);
  });

  it("a pipe that nobody reads, until it is stopped", () => {
    const argv = [MAIN, "logits", MODEL, "--ids", "1", "--out", join(folder, "pipe")];
    const options = { env: environment(env), timeout: 1500, killSignal: "SIGTERM" } as const;
    expect(spawnSync(process.execPath, argv, options).status).toBe(143);
  });

  it("output that has no room, and an address space that has none", () => {
    const shell = (command: string) =>
      spawnSync("sh", ["-c", command, process.execPath, MAIN, MODEL], {
        env: environment(env),
        encoding: "utf8",
      });
    const full = shell('"$0" "$1" cache path > /dev/full');
    expect(full).toMatchObject({ status: 1 });
    expect(full.stderr).toMatch(/^sluice: the output could not be written: the disk is full\n/);
    const narrow = shell('ulimit -v 4000000; "$0" "$1" logits "$2" --ids 1 --out -');
    expect(narrow).toMatchObject({ status: 1 });
    expect(narrow.stderr).toMatch(/^sluice: .* of address space .*\n.*ulimit -v/);
  });
});
