/** A model in three parts, through the commands: as the same model in one file. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSubject } from "../../src/plan/subject.ts";
import { splitModel } from "../gguf/split-files.ts";
import { MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-split-"));
afterAll(() => rmSync(folder, { recursive: true }));
const root = join(folder, "cache");
const env = { SLUICE_CACHE_DIR: root };
const parts = splitModel(MODEL, folder, "tiny", [3, 90, 0]);
const QUESTION = "What is the capital of Japan?";

/** stdout of a command that must succeed. */
async function output(argv: readonly string[], input = ""): Promise<string> {
  const { code, stdout, stderr } = await sluice(argv, { env, input });
  expect(code, stderr).toBe(0);
  return stdout;
}

async function caches(): Promise<{ name: string; folder: string; source: { name: string } }[]> {
  return JSON.parse(await output(["cache", "ls", "--json"]));
}

describe("a split model", () => {
  beforeAll(async () => {
    await output(["unpack", parts[1]]);
    await output(["unpack", MODEL]);
  });

  it("has logits and weights of the whole, to the bit, and a cache of its own", async () => {
    const logits = (model: string) =>
      sluice(["logits", model, "--ids", "1022,266,10,287,267", "--out", "-"], { env });
    const whole = await logits(MODEL);
    expect(whole.bytes.length).toBe(5 * 1024 * 4);
    for (const model of [parts[2], folder])
      expect((await logits(model)).bytes.equals(whole.bytes)).toBe(true);

    const [first, second] = await caches();
    expect([first.name, first.source.name]).toEqual([
      expect.stringMatching(/^tiny-[0-9a-f]{12}-f32$/),
      "tiny.gguf",
    ]);
    const files = readdirSync(first.folder).filter((name) => name !== "manifest.msgpack");
    expect(files.length).toBe(39);
    for (const name of files)
      expect(
        readFileSync(join(first.folder, name)).equals(readFileSync(join(second.folder, name))),
        name,
      ).toBe(true);
  });

  it("answers in run and chat, from any part and the folder", async () => {
    const ask = (model: string) => output(["run", model, "-p", QUESTION, "--temp", "0"]);
    const answer = await ask(MODEL);
    expect(answer).toContain("Tokyo");
    for (const model of [...parts, folder]) expect(await ask(model)).toBe(answer);
    expect(await output(["chat", parts[0], "--temp", "0"], `${QUESTION}\n`)).toContain("Tokyo");
  });

  it("is planned, with its largest part to measure the disk", async () => {
    expect(openSubject(folder).sample).toBe(parts[2]);
    const plan = async (model: string) => JSON.parse(await output(["plan", model, "--json"]));
    const [split, whole] = [await plan(parts[2]), await plan(MODEL)];
    const bytes = (plan: { dtypes: { bytes: number }[] }) => plan.dtypes.map((dtype) => dtype.bytes);
    expect(bytes(split)).toEqual(bytes(whole));
  });

  it.each([
    ["tokenize", ["Hello"]],
    ["render", ["--messages", "-"]],
  ])("%s", async (command, more) => {
    const input = JSON.stringify([{ role: "user", content: "Hi" }]);
    const whole = await output([command, MODEL, ...more], input);
    for (const model of [parts[1], folder])
      expect(await output([command, model, ...more], input)).toBe(whole);
  });

  it("is shown with its parts, and where each tensor lies", async () => {
    const text = await output(["inspect", parts[1]]);
    expect(text).toContain("split into 3 parts");
    for (const path of parts) expect(text).toContain(path);
    const { parts: files, tensors } = JSON.parse(await output(["inspect", folder, "--json"]));
    expect(files.map(({ path }: { path: string }) => path)).toEqual(parts);
    const last = tensors.at(-1);
    expect(last.part).toBe(3);
    expect(last.offset + last.bytes).toBeLessThanOrEqual(readFileSync(parts[2]).length);
  });

  it("is found in the cache by any part and the folder, and deleted so", async () => {
    expect(await output(["cache", "verify", folder])).toMatch(/^tiny-.* ok/);
    expect(await output(["cache", "rm", parts[2], "--yes"])).toMatch(/^Deleted tiny-[0-9a-f]{12}-f32\n$/);
    expect((await caches()).map(({ source }) => source.name)).toEqual(["tiny-chat-q8_0.gguf"]);
  });

  it("writes nothing where a part is missing", async () => {
    const away = `${parts[1]}.away`;
    renameSync(parts[1], away);
    const fresh = join(folder, "fresh");
    const { code, stderr } = await sluice(["run", parts[0], "-p", "x"], { env: { SLUICE_CACHE_DIR: fresh } });
    renameSync(away, parts[1]);
    expect(code).toBe(1);
    expect(stderr).toContain(`one of the 3 parts of the split model is missing: ${parts[1]}`);
    expect(existsSync(fresh)).toBe(false);
  });
});

describe.runIf(process.platform === "linux" && !("execve" in process))("the second process", () => {
  it("is started for parts, whose own size tells nothing", async () => {
    const started = async (model: string) => {
      const argv = ["run", model, "--no-such-option"];
      return (await sluice(argv, { env: { NODE_DEBUG: "child_process" } })).stderr.includes(
        "max-semi-space-size",
      );
    };
    expect([await started(parts[0]), await started(folder), await started(MODEL)]).toEqual([
      true,
      true,
      false,
    ]);
  });
});
