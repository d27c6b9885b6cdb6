import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CACHE_FORMAT } from "../../src/store/manifest.ts";
import { unpack } from "../../src/unpack/unpack.ts";

const root = new URL("../../", import.meta.url);
const page = readFileSync(new URL("docs/cache-format.md", root), "utf8");

describe("docs/cache-format.md", () => {
  const cache = mkdtempSync(join(tmpdir(), "sluice-docs-"));
  let folder: string;
  beforeAll(async () => {
    const model = fileURLToPath(new URL("models/tiny-chat-q8_0.gguf", root));
    ({ folder } = await unpack(model, { root: cache, dtype: "q8" }));
  });
  afterAll(() => rmSync(cache, { recursive: true, force: true }));

  it("describes the format that is written", () => {
    expect(page).toContain(`Cache format ${CACHE_FORMAT} `);
  });

  it("shows the name and the files of a cache", () => {
    const name = readdirSync(cache).find((entry) => entry.endsWith("-q8"))!;
    expect(page).toContain(`── ${name}/`);
    const files = readdirSync(folder).filter((file) => !/layer-(0[1-9]|[12]\d|3[0-4])/.test(file));
    for (const file of files) expect(page).toContain(file);
  });

  it("shows the bytes of a layer file", () => {
    const bytes = readFileSync(join(folder, "layer-00.bin"));
    const lines = [...page.matchAll(/^([0-9a-f]{8}) ((?: {1,2}[0-9a-f]{2}){16}) {2}\|/gm)];
    expect(lines.length).toBeGreaterThan(10);
    for (const [, offset, hex] of lines) {
      const at = Number.parseInt(offset, 16);
      expect(hex.replaceAll(" ", "")).toBe(bytes.toString("hex", at, at + 16));
    }
  });
});
