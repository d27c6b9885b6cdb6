import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-logits-"));
afterAll(() => rmSync(folder, { recursive: true }));

const env = { SLUICE_CACHE_DIR: join(folder, "cache") };
const VOCABULARY = 1024;
// "<|im_start|>user\nWhat is the capital of Japan?<|im_end|>\n<|im_start|>assistant\n"
const IDS = "1022,266,10,287,267,279,313,283,979,63,1023,10,1022,265,10";
const logits = (ids: string, out: string) => sluice(["logits", MODEL, "--ids", ids, "--out", out], { env });

function argmax(row: Float32Array): number {
  return row.indexOf(Math.max(...row));
}

it("writes float32 logits of every position, to a file and to stdout alike", async () => {
  const path = join(folder, "logits.bin");
  expect(await logits(IDS, path)).toMatchObject({ code: 0, stdout: "" });
  const bytes = readFileSync(path);
  expect(bytes.length).toBe(15 * VOCABULARY * 4);
  const values = Float32Array.from({ length: 15 * VOCABULARY }, (_, index) => bytes.readFloatLE(index * 4));
  // The model goes on with "The", and expects the line break after "<|im_end|>".
  expect(argmax(values.subarray(14 * VOCABULARY))).toBe(293);
  expect(argmax(values.subarray(10 * VOCABULARY, 11 * VOCABULARY))).toBe(10);
  const piped = await logits(IDS, "-");
  expect(piped.bytes.equals(bytes)).toBe(true);
  expect(readdirSync(folder).sort()).toEqual(["cache", "logits.bin"]);
});

it.each([
  ["5,1024", /token 1024 is not in the vocabulary of 1024 tokens/],
  [Array(1025).fill(1).join(), /1025 ids, and the context holds 1024 tokens/],
])("refuses ids %s", async (ids, message) => {
  const { code, stderr } = await logits(ids, join(folder, "refused.bin"));
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
  expect(readdirSync(folder)).not.toContain("refused.bin");
});

it("names a file that cannot be written and leaves nothing behind", async () => {
  const { code, stderr } = await logits("1,2", join(folder, "no", "such", "folder.bin"));
  expect(code).toBe(1);
  expect(stderr).toMatch(/^sluice: cannot write .*folder\.bin: no such file or folder/m);
});
