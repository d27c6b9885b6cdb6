import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-cache-"));
const root = join(folder, "root");
let name = "";
afterAll(() => rmSync(folder, { recursive: true }));
beforeAll(async () => {
  await sluice(["unpack", MODEL, "--cache-dir", root]);
  [name] = readdirSync(root);
});

let copies = 0;
/** A copy of the root with one finished cache, to be changed. */
function copy(): string {
  const target = join(folder, `copy-${copies++}`);
  cpSync(root, target, { recursive: true });
  return target;
}
const cache = (root: string, ...argv: string[]) => sluice(["cache", ...argv, "--cache-dir", root]);

describe("cache ls", () => {
  it("lists what there is, unfinished ones marked", async () => {
    const root = copy();
    cpSync(join(root, name), join(root, `half-${name}`), { recursive: true });
    rmSync(join(root, `half-${name}`, "manifest.msgpack"));
    const { stdout } = await cache(root, "ls");
    const [head, half, whole] = stdout.split("\n");
    expect(head).toMatch(/^name +dtype +size +layers +date$/);
    expect(half).toMatch(/^half-.* unfinished$/);
    expect(whole).toMatch(/^tiny-chat-q8_0-[0-9a-f]{12}-f32 +f32 +7\.71 MB +36 +\d{4}-\d\d-\d\d$/);
    const entries = JSON.parse((await cache(root, "ls", "--json")).stdout);
    expect(entries).toMatchObject([
      { state: "unfinished" },
      { state: "finished", dtype: "f32", layers: 36, source: { name: "tiny-chat-q8_0.gguf" } },
    ]);
  });

  it("marks caches of another format, which verify passes over and rm deletes", async () => {
    const root = copy();
    const path = join(root, name, "manifest.msgpack");
    // A fixint behind the name of the first field.
    const bytes = readFileSync(path);
    bytes[bytes.indexOf("format") + 6] = 1;
    writeFileSync(path, bytes);
    expect((await cache(root, "ls")).stdout).toMatch(/ outdated\n$/);
    expect(await cache(root, "verify")).toMatchObject({
      code: 0,
      stdout: `${name}  outdated, not checked\n`,
    });
    expect((await cache(root, "rm", name, "-y")).stdout).toBe(`Deleted ${name}\n`);
    expect(readdirSync(root)).toEqual([]);
  });

  it("of nothing is nothing", async () => {
    expect(await cache(join(folder, "nowhere"), "ls")).toMatchObject({ code: 0, stdout: "", stderr: "" });
  });
});

it("cache path prints the folder of caches", async () => {
  expect((await cache(root, "path")).stdout).toBe(`${root}\n`);
  const { stdout } = await sluice(["cache", "path"]);
  expect(stdout).toBe(`${resolve(import.meta.dirname, "../../cache")}\n`);
});

describe("cache verify", () => {
  it("finds sound caches sound", async () => {
    expect(await cache(root, "verify")).toMatchObject({ code: 0, stdout: `${name}  ok, 7.71 MB\n` });
  });

  it.each([
    ["layer-07.bin", 4096, /chunk 0 \(bytes 0 to \d+\) is damaged: holds blk\.7\.attn_norm\.weight/],
    ["embedding.bin", -1, /chunk 0 .* is damaged: holds token_embd\.weight/],
    ["tokenizer.msgpack", 100, /is damaged/],
  ])("finds a changed byte in %s", async (file, position, message) => {
    const root = copy();
    const path = join(root, name, file);
    const bytes = readFileSync(path);
    bytes[position < 0 ? bytes.length + position : position] ^= 16;
    writeFileSync(path, bytes);
    const { code, stdout, stderr } = await cache(root, "verify", name);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^${name} {2}${file}`));
    expect(stdout).toMatch(message);
    expect(stderr).toContain("--force");
  });

  it("names a truncated file", async () => {
    const root = copy();
    writeFileSync(join(root, name, "output.bin"), "");
    const { code, stdout } = await cache(root, "verify");
    expect(code).toBe(1);
    expect(stdout).toContain("output.bin is truncated");
  });
});

describe("cache rm", () => {
  it("asks nobody without a terminal, and deletes only when told to", async () => {
    const root = copy();
    expect((await cache(root, "rm")).code).toBe(2);
    expect((await cache(root, "rm", name)).code).toBe(2);
    expect(readdirSync(root)).toEqual([name]);
    expect((await cache(root, "rm", name, "-y")).stdout).toBe(`Deleted ${name}\n`);
    expect(readdirSync(root)).toEqual([]);
  });

  it("takes the beginning of a name if it is clear, a model file, or all", async () => {
    const root = copy();
    cpSync(join(root, name), join(root, `tiny-other-0123456789ab-f32`), { recursive: true });
    const unclear = await cache(root, "rm", "tiny", "-y");
    expect(unclear.code).toBe(1);
    expect(unclear.stderr).toMatch(/could be tiny-chat.* or tiny-other/);
    expect((await cache(root, "rm", "nothing", "-y")).code).toBe(1);
    await cache(root, "rm", MODEL, "-y");
    expect(readdirSync(root)).toEqual(["tiny-other-0123456789ab-f32"]);
    await cache(root, "rm", "tiny", "-y");
    expect(readdirSync(root)).toEqual([]);
    const another = copy();
    await cache(another, "rm", "--all", "-y");
    expect(readdirSync(another)).toEqual([]);
  });

  it("leaves folders with other files alone", async () => {
    const root = copy();
    writeFileSync(join(root, name, "notes.txt"), "mine");
    const { code, stderr } = await cache(root, "rm", name, "-y");
    expect(code).toBe(1);
    expect(stderr).toContain("notes.txt");
    expect(readdirSync(join(root, name))).toContain("layer-00.bin");
  });
});
