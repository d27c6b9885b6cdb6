import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeModel, PRESETS } from "../../scripts/synthetic/model.mjs";
import { MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-quantize-cli-"));
const source = join(folder, "f16.gguf");
beforeAll(() => makeModel(source, { ...PRESETS["tiny"], type: "f16", layers: 2 }));
afterAll(() => rmSync(folder, { recursive: true }));

describe("quantize", () => {
  it("writes a smaller file that runs, and says of what it is made", async () => {
    const out = join(folder, "q8.gguf");
    const { code, stdout } = await sluice(["quantize", source, out, "Q8_0", "-t", "2"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Wrote .*q8\.gguf: \S+ [kM]B instead of \S+ [kM]B, in \S+ s\nTensors: /);
    expect(stdout).toContain("15 q8_0");
    expect(statSync(out).size).toBeLessThan(statSync(source).size * 0.7);
    const run = await sluice(["run", out, "--dtype", "native", "--temp-cache", "-p", "a", "-n", "2"]);
    expect(run.code).toBe(0);
  });

  it("replaces a file only with --force, and its source never", async () => {
    const out = join(folder, "there.gguf");
    writeFileSync(out, "GGUF of somebody");
    const refused = await sluice(["quantize", source, out, "q8_0"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("there.gguf is there already");
    expect(readFileSync(out, "utf8")).toBe("GGUF of somebody");
    expect((await sluice(["quantize", source, out, "q8_0", "--force"])).code).toBe(0);
    const link = join(folder, "link.gguf");
    linkSync(source, link);
    const before = statSync(source).size;
    const itself = await sluice(["quantize", source, link, "q8_0", "--force"]);
    expect(itself.code).toBe(1);
    expect(itself.stderr).toContain("this command reads it");
    expect(statSync(source).size).toBe(before);
  });

  it("writes files only, and beside one that is called as the unfinished one might be", async () => {
    const pipe = join(folder, "pipe.gguf");
    if (process.platform !== "win32") execFileSync("mkfifo", [pipe]);
    mkdirSync(join(folder, "folder.gguf"));
    for (const name of ["pipe.gguf", "folder.gguf"].slice(process.platform === "win32" ? 1 : 0)) {
      const refused = await sluice(["quantize", source, join(folder, name), "q8_0", "--force"]);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(/is a (folder|device or a pipe)/);
      expect(statSync(join(folder, name)).isFile()).toBe(false);
    }
    const partial = join(folder, "own.gguf.partial");
    copyFileSync(source, partial);
    const bytes = readFileSync(partial);
    expect((await sluice(["quantize", partial, join(folder, "own.gguf"), "q8_0"])).code).toBe(0);
    expect(readFileSync(partial).equals(bytes)).toBe(true);
  });

  it.each([
    [["q9_9"], 2, "Allowed choices are q8_0"],
    [[], 2, "missing required argument"],
  ])("a wrong type is a usage error: %j", async (type, code, message) => {
    const result = await sluice(["quantize", source, join(folder, "no.gguf"), ...type]);
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(message);
    expect(existsSync(join(folder, "no.gguf"))).toBe(false);
  });

  it("refuses what is quantized, and places where nothing can be written", async () => {
    const quantized = await sluice(["quantize", MODEL, join(folder, "no.gguf"), "q4_0"]);
    expect(quantized.code).toBe(1);
    expect(quantized.stderr).toContain("is quantized already");
    const nowhere = await sluice(["quantize", source, join(folder, "none/no.gguf"), "q4_0"]);
    expect(nowhere.code).toBe(1);
    expect(nowhere.stderr).toMatch(/cannot write .*none.no\.gguf/);
    expect(nowhere.stderr).not.toContain("at ");
  });
});
