import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-model-file-"));
const env = { SLUICE_CACHE_DIR: join(folder, "cache") };
const messages = join(folder, "messages.json");
let unpacked = "";

beforeAll(async () => {
  writeFileSync(messages, JSON.stringify([{ role: "user", content: "Hello" }]));
  const { code, stderr } = await sluice(["unpack"], { env });
  expect(code, stderr).toBe(0);
  unpacked = join(
    env.SLUICE_CACHE_DIR,
    readdirSync(env.SLUICE_CACHE_DIR).find((name) => name.startsWith("tiny"))!,
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

const SAY = ["-p", "What is the capital of Japan?", "--temp", "0", "-n", "3", "--date", "2026-01-01"];

describe("commands that take a model", () => {
  it.each([
    ["run", SAY],
    ["watch", SAY],
    ["inspect", ["--json"]],
    ["render", ["--messages", "MESSAGES", "--date", "2026-01-01"]],
    ["logits", ["--ids", "1,2", "--out", "-"]],
  ])("%s takes the small model where none is given", async (command, flags) => {
    const argv = flags.map((flag) => (flag === "MESSAGES" ? messages : flag));
    const bare = await sluice([command, ...argv], { env });
    expect(bare.code, bare.stderr).toBe(0);
    // Only people are told: a script's stderr stays empty.
    expect(bare.stderr).not.toContain("no model");
    expect(bare.bytes).toEqual((await sluice([command, MODEL, ...argv], { env })).bytes);
  });

  it.each([
    ["tokenize", ["Hello world"]],
    ["render", ["--messages", "MESSAGES", "--date", "2026-01-01"]],
  ])("%s says the same of the folder of an unpacked model", async (command, rest) => {
    const argv = rest.map((flag) => (flag === "MESSAGES" ? messages : flag));
    const [ofFile, ofFolder] = [
      await sluice([command, MODEL, ...argv]),
      await sluice([command, unpacked, ...argv]),
    ];
    expect(ofFolder).toEqual(ofFile);
    expect(ofFile.stdout).not.toBe("");
  });

  it.each(["inspect", "unpack"])("%s says which file to give in place of the folder", async (command) => {
    const { code, stderr } = await sluice([command, unpacked], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      / is an unpacked model, not a model file\n.* it was called tiny-chat-q8_0\.gguf\.\n$/,
    );
    expect((await sluice([command, folder], { env })).stderr).toMatch(
      / is a folder, and no unpacked model\n/,
    );
  });

  it("embed wants it, for its texts come after it", async () => {
    const { code, stderr } = await sluice(["embed", "cat", "dog"], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^sluice: cat does not exist\n.*texts come after it\.\n$/);
  });
});
