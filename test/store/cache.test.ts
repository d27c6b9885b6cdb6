import { cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findCaches, openCache } from "../../src/store/cache.ts";
import { listCaches, removeCache } from "../../src/store/list.ts";
import { decodeMessage, encodeMessage, readManifest } from "../../src/store/manifest.ts";
import { verifyCache } from "../../src/store/verify.ts";
import { FINGERPRINT, makeCache, temporaryFolder } from "./fake-cache.ts";

// biome-ignore lint/suspicious/noExplicitAny: a manifest on its way to being none
type Spoilable = any;

const root = temporaryFolder();
const { folder, manifest } = makeCache(root);

/** A copy of the cache to be spoiled. */
function copy(name: string): string {
  const target = join(temporaryFolder(), name);
  cpSync(folder, target, { recursive: true });
  return target;
}

/** A copy whose manifest was changed. */
function withManifest(change: (manifest: Spoilable) => void): string {
  const target = copy("spoiled-0123456789ab-f32");
  const value = decodeMessage(readFileSync(join(target, "manifest.msgpack")));
  change(value);
  writeFileSync(join(target, "manifest.msgpack"), encodeMessage(value));
  return target;
}

const badCache = (message: RegExp) =>
  expect.objectContaining({ code: "bad-cache", message: expect.stringMatching(message) });

describe("openCache", () => {
  test("gives back the manifest", () => {
    expect(openCache(folder)).toEqual({ folder, manifest });
  });

  test("refuses truncated, lengthened and missing files by name", () => {
    const target = copy("x");
    truncateSync(join(target, "layer-01.bin"), 5000);
    expect(() => openCache(target)).toThrow(
      badCache(/layer-01\.bin is truncated.* 5000 bytes instead of \d+/),
    );
    truncateSync(join(target, "layer-01.bin"), 1e8);
    expect(() => openCache(target)).toThrow(badCache(/layer-01\.bin is not the file/));
    rmSync(join(target, "layer-01.bin"));
    expect(() => openCache(target)).toThrow(badCache(/layer-01\.bin is missing/));
  });

  test("refuses unfinished folders and other formats", () => {
    const target = copy("x");
    rmSync(join(target, "manifest.msgpack"));
    expect(() => openCache(target)).toThrow(badCache(/no unpacked model/));
    expect(() => openCache(join(target, "nowhere"))).toThrow(badCache(/no unpacked model/));
    expect(() => readManifest(withManifest((m) => (m.format = 99)))).toThrow(badCache(/format 99/));
  });

  test.each<[string, (manifest: Spoilable) => void]>([
    ["a path for a name", (m) => (m.layers[0].name = "../../etc/passwd")],
    ["a foreign tokenizer", (m) => (m.tokenizer.name = "/etc/passwd")],
    ["an absurd tensor", (m) => (m.layers[0].tensors[1].rows = 2 ** 30)],
    ["a fractional tensor", (m) => (m.layers[0].tensors[1].rows = 1.5)],
    ["a q8 vector", (m) => (m.layers[0].tensors[0].dtype = "q8")],
    ["an f16 vector", (m) => (m.layers[0].tensors[0].dtype = "f16")],
    ["half blocks", (m) => (m.layers[0].tensors[1].dtype = "q4")],
    ["a source of no type", (m) => (m.layers[0].tensors[1].sourceTypes = [])],
    ["a chunk out of place", (m) => (m.layers[1].chunks[1].offset += 4096)],
    ["a chunk too long", (m) => (m.layers[1].chunks[0].stored += 1)],
    ["a missing chunk", (m) => m.layers[1].chunks.pop()],
    ["a wrong size", (m) => (m.output.bytes = 1)],
    ["a missing layer", (m) => m.layers.pop()],
    ["an unknown dtype", (m) => (m.dtype = "q3")],
    ["no model", (m) => delete m.model],
    ["no map", (m) => m.layers.splice(0, 2, 1, 2)],
  ])("refuses a manifest with %s", (_, change) => {
    expect(() => readManifest(withManifest(change))).toThrow(badCache(/damaged/));
  });

  test("refuses bytes that are no manifest", () => {
    const target = copy("x");
    for (const bytes of [[], [0xc0], [0xdf, 255, 255, 255, 255], [0xc1], [0x93, 1]]) {
      writeFileSync(join(target, "manifest.msgpack"), Uint8Array.from(bytes));
      expect(() => openCache(target)).toThrow(badCache(/damaged/));
    }
  });
});

describe("verifyCache", () => {
  test("finds nothing wrong with a sound cache, reading every byte", async () => {
    const seen: number[] = [];
    const result = await verifyCache(folder, { onProgress: ({ doneBytes }) => seen.push(doneBytes) });
    expect(result.damages).toEqual([]);
    expect(seen.at(-1)).toBe(result.bytes);
  });

  test("finds a changed byte in weights, in padding and in the tokenizer", async () => {
    const last = manifest.layers[1].bytes - 1;
    const cases = [
      ["embedding.bin", 0, ["m10x8.weight"]],
      // Value 8 of a vector of 8: the padding behind it.
      ["layer-00.bin", 32, expect.arrayContaining(["v8.weight", "m8x8.weight"])],
      ["layer-01.bin", last, expect.arrayContaining(["m8x20000.weight"])],
      ["output.bin", 4095, ["v8.weight"]],
      ["tokenizer.msgpack", 3, []],
    ] as const;
    for (const [file, offset, tensors] of cases) {
      const target = copy("x");
      const bytes = readFileSync(join(target, file));
      bytes[offset] ^= 1;
      writeFileSync(join(target, file), bytes);
      const { damages } = await verifyCache(target);
      expect(damages).toHaveLength(1);
      expect(damages[0]).toMatchObject({ file, tensors });
      expect(offset).toBeGreaterThanOrEqual(damages[0].offset);
      expect(offset).toBeLessThan(damages[0].offset + damages[0].bytes);
    }
  });

  test("can be stopped", async () => {
    await expect(verifyCache(folder, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "aborted",
    });
  });
});

describe("looking after caches", () => {
  test("finds finished caches of a source only", () => {
    const root = temporaryFolder();
    makeCache(root);
    makeCache(root, "renamed-0123456789ab-f32");
    makeCache(root, "other-ffffffffffff-f32");
    const unfinished = makeCache(root, "fake-0123456789ab-q8").folder;
    rmSync(join(unfinished, "manifest.msgpack"));
    const names = ["fake-0123456789ab-f32", "renamed-0123456789ab-f32"];
    expect(findCaches(root, FINGERPRINT).map((cache) => cache.folder)).toEqual(
      names.map((name) => join(root, name)),
    );
    expect(findCaches(root, `${FINGERPRINT.slice(0, 12)}${"0".repeat(52)}`)).toEqual([]);
    expect(findCaches(join(root, "nowhere"), FINGERPRINT)).toEqual([]);
  });

  test("lists finished, unfinished and damaged ones, and nothing else", () => {
    const root = temporaryFolder();
    makeCache(root, "a-0123456789ab-f32");
    rmSync(join(makeCache(root, "b-0123456789ab-f32").folder, "manifest.msgpack"));
    truncateSync(join(makeCache(root, "c-0123456789ab-f32").folder, "output.bin"), 1);
    const { folder, manifest } = makeCache(root, "d-0123456789ab-native");
    writeFileSync(join(folder, "manifest.msgpack"), encodeMessage({ ...manifest, format: 1, layers: "?" }));
    mkdirSync(join(root, "photos"));
    writeFileSync(join(root, "README.md"), "");
    const found = listCaches(root).map(({ name, state }) => `${name} ${state}`);
    expect(found).toEqual([
      "a-0123456789ab-f32 finished",
      "b-0123456789ab-f32 unfinished",
      "c-0123456789ab-f32 damaged",
      "d-0123456789ab-native outdated",
    ]);
    removeCache(join(root, "d-0123456789ab-native"));
    expect(listCaches(root)).toHaveLength(3);
    expect(listCaches(join(root, "nowhere"))).toEqual([]);
  });

  test("removes caches, and nothing that is not one", () => {
    const root = temporaryFolder();
    const { folder } = makeCache(root);
    writeFileSync(join(folder, "notes.txt"), "mine");
    expect(() => removeCache(folder)).toThrow(/notes\.txt/);
    openCache(folder);
    rmSync(join(folder, "notes.txt"));
    removeCache(folder);
    expect(listCaches(root)).toEqual([]);

    const photos = join(root, "photos");
    mkdirSync(photos);
    expect(() => removeCache(photos)).toThrow(expect.objectContaining({ code: "bad-input" }));
    expect(() => removeCache(join(root, "nowhere"))).toThrow(expect.objectContaining({ code: "io" }));
  });
});
