import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type Item, readItems } from "../../../src/cli/batch/items.ts";
import { questionOf } from "../../../src/cli/batch/question.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-items-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function itemsOf(content: string | Uint8Array): Promise<Item[]> {
  const path = join(folder, "in.jsonl");
  writeFileSync(path, content);
  const items: Item[] = [];
  for await (const item of readItems(path, "jsonl")) items.push(item);
  return items;
}

const errorOf = ({ content }: Item) => ("error" in content ? content.error.message : undefined);

describe("lines of JSON", () => {
  it("are errors of their own where they are nested too deeply, and brackets in texts do not count", async () => {
    const deep = (depth: number) => `{"prompt":"a","extra":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    const text = JSON.stringify({ prompt: "[".repeat(2000) + '\\"{'.repeat(2000) });
    const items = await itemsOf([deep(100), deep(5000), text, '{"prompt":"b"}'].join("\n"));
    expect(items.map(errorOf)).toEqual([
      undefined,
      "the line is nested 5001 deep, 500 at most",
      undefined,
      undefined,
    ]);
  });

  it("are errors where they are not UTF-8", async () => {
    const items = await itemsOf(Buffer.from([0x22, 0xff, 0x22, 0x0a, 0x22, 0x61, 0x22, 0x0a]));
    expect(items.map(errorOf)).toEqual(["the line is no text: it is not UTF-8", undefined]);
  });
});

describe("ids", () => {
  it.each(["9007199254740993", "1e400"])("that cannot be kept as written are refused: %s", async (id) => {
    const [item] = await itemsOf(`{"prompt":"a","id":${id}}`);
    expect(() => questionOf(item, {})).toThrow("put it in quotes");
  });
});
