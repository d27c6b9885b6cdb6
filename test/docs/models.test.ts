import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ARCHITECTURES } from "../../src/model/architectures/index.ts";
import { SUPPORTED_TYPES } from "../../src/quant/index.ts";
import { supportedNames } from "../../src/text/pre-tokenizers.ts";

const page = readFileSync(new URL("../../docs/models.md", import.meta.url), "utf8");

/** What stands in code in the tables of a section, in the first `columns` columns. */
function named(heading: string, columns: number): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(heading))!;
  const cells = section
    .split("\n")
    .flatMap((line) => (line.startsWith("| `") ? line.split("|").slice(1, 1 + columns) : []));
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).sort();
}

describe("the page about models", () => {
  it("names every architecture", () => {
    expect(named("Architectures", 1)).toEqual([...ARCHITECTURES.keys()].sort());
  });

  it("names every tensor type", () => {
    const [, section] = page.split(/^## Tensor types$/m);
    const types = section
      .split(/^## /m)[0]
      .match(/`[a-z0-9_]+(K)?`/gi)!
      .map((name) => name.slice(1, -1));
    expect([...new Set(types)].sort()).toEqual([...SUPPORTED_TYPES].sort());
  });

  it("names every tokenizer and pre-tokenizer", () => {
    expect(named("Tokenizers", 2)).toEqual([...supportedNames(), "gpt2", "llama"].sort());
  });
});
