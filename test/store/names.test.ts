import { expect, test } from "vitest";
import { cacheFolderName, isOwnFile, isOwnFolder, layerFileName } from "../../src/store/names.ts";

const fingerprint = "0123456789abcdef0123";

test.each([
  ["SmolLM3-3B-Q8_0.gguf", "SmolLM3-3B-Q8_0-0123456789ab-q8"],
  ["a b:c/d\\e?.GGUF", "a-b-c-d-e-0123456789ab-q8"],
  ["..gguf", "model-0123456789ab-q8"],
  ["模型.gguf", "model-0123456789ab-q8"],
  ["con.v1.gguf", "_con.v1-0123456789ab-q8"],
  [`${"x".repeat(300)}.gguf`, `${"x".repeat(80)}-0123456789ab-q8`],
])("the folder of %s", (name, expected) => {
  expect(cacheFolderName(name, fingerprint, "q8", "none")).toBe(expected);
  expect(isOwnFolder(expected)).toBe(true);
});

test("compression is part of the name", () => {
  expect(cacheFolderName("m.gguf", fingerprint, "f32", "lz4")).toBe("m-0123456789ab-f32-lz4");
  expect(isOwnFolder("m-0123456789ab-f32-lz4.new")).toBe(true);
  expect(isOwnFolder("m-0123456789ab-f32-lz4.txt")).toBe(false);
  expect(isOwnFolder("photos-f32")).toBe(false);
});

test("own files", () => {
  for (const name of [layerFileName(0), layerFileName(123), "layer-00.bin.partial", "manifest.msgpack.tmp"])
    expect(isOwnFile(name), name).toBe(true);
  for (const name of ["notes.txt", "layer-0.bin", "layer-00.bin.bak", "xlayer-00.bin"])
    expect(isOwnFile(name), name).toBe(false);
});
