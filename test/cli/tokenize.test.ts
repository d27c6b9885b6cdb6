import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-tokenize-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("sluice tokenize", () => {
  test("a token a line, harmless and readable", async () => {
    const { stdout, stderr, code } = await sluice(["tokenize", MODEL, "Hello é\n\x1b\\"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines[0]).toBe(' 583 "Hello"');
    expect(lines).toContain(' 195 "\\xc3"');
    expect(lines).toContain('  10 "\\n"');
    expect(lines).toContain('  27 "\\u{1b}"');
    expect(lines.at(-1)).toBe("");
  });

  test("as JSON, from stdin, with -m, with - and from a file of any bytes", async () => {
    const expected = [583, 413, 464];
    const ids = async (argv: string[], input = "") => {
      return JSON.parse((await sluice(["tokenize", ...argv, "--json"], { input })).stdout).ids;
    };
    const { stdout } = await sluice(["tokenize", MODEL, "Hello world", "--json"]);
    expect(JSON.parse(stdout).ids).toEqual(expected);
    expect(JSON.parse(stdout).pieces.join("")).toBe("Hello world");
    expect(await ids([MODEL], "Hello world")).toEqual(expected);
    // No argument at all: the model that comes with sluice, which this is.
    expect(await ids([], "Hello world")).toEqual(expected);
    expect(await ids([MODEL, "-"], "Hello world")).toEqual(expected);
    // One argument that is no model is a text for the bundled one; stdin is without its last newline.
    expect(await ids(["Hello world"])).toEqual(expected);
    expect(await ids(["-"], "Hello world\n")).toEqual(expected);
    expect(await ids(["-"], "Hello world\r\n")).toEqual(expected);
    expect(await ids([], "Hello world\n\n")).toEqual([...expected, 10]);
    expect(await ids(["-m", MODEL, "Hello world"])).toEqual(expected);
    const file = join(folder, "bytes");
    writeFileSync(file, Uint8Array.of(0x61, 0xff, 0x0a));
    expect(await ids([MODEL, "-f", file])).toEqual([0x61, 0xef, 0xbf, 0xbd, 0x0a]);
  });

  test("special tokens on request", async () => {
    const count = async (...flags: string[]) => {
      const { stdout } = await sluice(["tokenize", MODEL, "<|im_end|>", "--json", ...flags]);
      return JSON.parse(stdout).ids;
    };
    expect(await count("--special")).toEqual([1023]);
    expect((await count()).length).toBeGreaterThan(4);
    expect(await count("--special", "--bos")).toEqual([1023]);
  });

  test("what makes no sense is said", async () => {
    const run = async (...argv: string[]) => {
      const { code, stdout, stderr } = await sluice(["tokenize", ...argv]);
      expect(stdout).toBe("");
      return `${code} ${stderr}`;
    };
    expect(await run("Hello world", "again")).toMatch(
      /^1 .*Hello world does not exist\n.*the first argument is the model/,
    );
    expect(await run("nowhere.gguf")).toMatch(/^1 .*nowhere\.gguf does not exist/);
    expect(await run(MODEL, "a", "-f", "b")).toMatch(/^2 .*more than one text/);
    expect(await run("-m", MODEL, "a", "b")).toMatch(/^2 .*too many arguments/);
    expect(await run(MODEL, "-f", join(folder, "none"))).toMatch(/^1 .*cannot read/);
    expect(await run(join(folder, "none"), "a")).toMatch(/^1 /);
  });
});
