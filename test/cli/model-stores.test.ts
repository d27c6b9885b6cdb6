/** Models where other programs keep them, through the commands. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { splitModel } from "../gguf/split-files.ts";
import { addHuggingFace, addLmStudio, addOllama } from "../models-on-disk/stores.ts";
import { MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-stores-"));
afterAll(() => rmSync(folder, { recursive: true }));
const env = {
  HOME: folder,
  HF_HOME: join(folder, "hf"),
  OLLAMA_MODELS: join(folder, "ollama"),
  SLUICE_CACHE_DIR: join(folder, "cache"),
};
const parts = splitModel(MODEL, folder, "Tiny-Q8_0", [0, 90, 0]);
addHuggingFace(join(folder, "hf/hub"), "org/Tiny-GGUF", {
  "Tiny-F16.gguf": MODEL,
  ...Object.fromEntries(parts.map((path) => [basename(path), path])),
});
addOllama(env.OLLAMA_MODELS, "registry.ollama.ai/library/tiny/1b", MODEL);
addLmStudio(join(folder, ".lmstudio/models"), "org/Tiny-GGUF", { "Tiny-Q8_0.gguf": MODEL });

async function output(argv: readonly string[], input = ""): Promise<string> {
  const { code, stdout, stderr } = await sluice(argv, { env, input });
  expect(code, stderr).toBe(0);
  return stdout;
}

describe("a model of", () => {
  it.each([
    ["hf:org/Tiny-GGUF:q8_0", "Tiny-Q8_0"],
    ["ollama:tiny", "tiny-1b"],
    ["lmstudio:org/tiny-gguf", "Tiny-Q8_0"],
  ])("%s is unpacked, and its cache is called %s", async (model, name) => {
    const { folder: cache, source } = JSON.parse(await output(["unpack", model, "--json"]));
    expect(source.name).toBe(`${name}.gguf`);
    expect(basename(cache)).toMatch(new RegExp(`^${name}-[0-9a-f]{12}-f32$`));
    expect(await output(["cache", "rm", model, "--yes"])).toBe(`Deleted ${basename(cache)}\n`);
  });

  it("Ollama is taken by commands that read the file only", async () => {
    expect(await output(["inspect", "ollama:tiny"])).toContain("Tiny-SmolLM3-Chat: smollm3, 36 layers");
    const ids = await output(["tokenize", MODEL, "Hi", "--json"]);
    expect(await output(["tokenize", "-m", "ollama:tiny", "Hi", "--json"])).toBe(ids);
  });

  it("Ollama keeps its conversations when it is resumed", async () => {
    const sessions = join(folder, "state");
    const chat = (argv: readonly string[], input: string) =>
      sluice(["chat", ...argv, "--temp", "0"], { env: { ...env, XDG_STATE_HOME: sessions }, input });
    const first = await chat(["ollama:tiny"], "What is the capital of Japan?\n/save travel\n");
    expect(first.code, first.stderr).toBe(0);
    expect(first.stdout).toContain("Tokyo");
    const [saved] = JSON.parse(
      (await sluice(["sessions", "ls", "--json"], { env: { ...env, XDG_STATE_HOME: sessions } })).stdout,
    );
    expect(JSON.stringify(saved)).toContain("tiny-1b.gguf");
    const second = await chat(["ollama:tiny", "--resume"], "What is 7 plus 5?\n");
    expect(second.code, second.stderr).toBe(0);
    expect(second.stderr).toContain("travel");
  });

  it("a store that has several is not guessed, in any command", async () => {
    for (const command of ["run", "plan"]) {
      const { code, stderr } = await sluice([command, "hf:org/Tiny-GGUF"], { env });
      expect(code).toBe(1);
      expect(stderr).toContain("hf:org/Tiny-GGUF could be 2 models: Tiny-F16.gguf, Tiny-Q8_0.gguf");
    }
  });
});

it("help tells of it", async () => {
  for (const command of ["run", "inspect"])
    expect((await output([command, "--help"])).replaceAll(/\s+/g, " ")).toContain(
      "hf:ORG/REPO[:QUANT], ollama:NAME[:TAG]",
    );
  expect(readFileSync(new URL("../../docs/models.md", import.meta.url), "utf8")).toContain("ollama:");
});
