import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const page = readFileSync(join(root, "docs/library.md"), "utf8");
/** Every block of code, the heading above it, and the output that is said to follow. */
const examples = [...page.matchAll(/```ts\n(.*?)```\n\n(?:```text\n(.*?)```)?/gs)].map((match, index) => {
  const heading = page
    .slice(0, match.index)
    .match(/^#+ .*$/gm)!
    .at(-1)!;
  return { name: `${index + 1}, ${heading.replace(/^#+ /, "")}`, file: `example-${index + 1}`, match };
});

/** Milliseconds are never the same twice. */
const withoutTimes = (text: string) => text.trimEnd().replace(/\d+\.\d+ ms/g, "… ms");

describe("the examples of docs/library.md", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-docs-"));
  const run = (script: string, ...args: string[]) =>
    spawnSync(process.execPath, [script, ...args], { cwd: folder, encoding: "utf8" });

  // As it looks to who has installed sluice.
  beforeAll(() => {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(root, join(folder, "node_modules/sluice"), "junction");
    symlinkSync(join(root, "node_modules/@types"), join(folder, "node_modules/@types"), "junction");
    symlinkSync(join(root, "models"), join(folder, "models"), "junction");
    for (const { file, match } of examples) writeFileSync(join(folder, `${file}.mts`), match[1]);
    const compilerOptions = { target: "es2023", module: "nodenext", types: ["node"], strict: true };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.mts"] }));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("compile", () => {
    expect(examples.length).toBeGreaterThan(8);
    expect(run(join(root, "node_modules/typescript/bin/tsc")).stdout).toBe("");
  });

  it.each(examples)("$name", ({ file, match }) => {
    const { stdout, stderr, status } = run(join(folder, `${file}.mjs`));
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(withoutTimes(stdout)).toBe(withoutTimes(match[2] ?? ""));
  });
});
