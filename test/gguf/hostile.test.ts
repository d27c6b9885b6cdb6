import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SluiceError } from "../../src/errors.ts";
import { readStrings } from "../../src/gguf/arrays.ts";
import { openGguf } from "../../src/gguf/open.ts";
import { planModel } from "../../src/model/plan-model.ts";
import { seeded } from "../random.ts";
import { writeSmallFile } from "./small-file.ts";
import { tempFolder } from "./temp-folder.ts";

const folder = tempFolder();
const path = join(folder, "hostile.gguf");

/** The error that opening a file of these bytes gives. */
function refusal(...parts: (string | Uint8Array)[]): {
  code: string;
  message: string;
  next: string | undefined;
} {
  writeFileSync(path, Buffer.concat(parts.map((part) => Buffer.from(part as string))));
  try {
    openGguf(path).close();
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    return { code: error.code, message: error.message.replace(path, "FILE"), next: error.next };
  }
  return { code: "none", message: "accepted", next: undefined };
}

const u32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value: bigint | number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const text = (value: string) => Buffer.concat([u64(value.length), Buffer.from(value)]);
const header = (tensors: bigint | number, keys: bigint | number, version = 3) =>
  Buffer.concat([Buffer.from("GGUF"), u32(version), u64(tensors), u64(keys)]);
const key = (name: string, type: number, ...value: Uint8Array[]) =>
  Buffer.concat([text(name), u32(type), ...value]);
const tensor = (name: string, shape: (bigint | number)[], type: number, offset: bigint | number) =>
  Buffer.concat([text(name), u32(shape.length), ...shape.map(u64), u32(type), u64(offset)]);
const padding = Buffer.alloc(4096);
const [UINT32, STRING, ARRAY, UINT64] = [4, 8, 9, 10];

describe("foreign files", () => {
  it.each<[string, string | Uint8Array, string]>([
    ["an empty file", "", "is empty"],
    ["a git-LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git-LFS pointer"],
    ["an HTML page", "\n <!DOCTYPE html><html>", "HTML"],
    ["a JSON error", '{"error":"Invalid username or password."}', "JSON error message"],
    ["a zip archive", "PK\x03\x04data", "zip archive or a PyTorch checkpoint"],
    ["a pickle", Uint8Array.of(0x80, 2, 0x8a, 0x0a), "PyTorch checkpoint"],
    ["safetensors", Buffer.concat([u64(64), Buffer.from('{"a":{"dtype"')]), "safetensors"],
    ["gzip", Uint8Array.of(0x1f, 0x8b, 8, 0), "compressed"],
    ["old GGJT", "tjgg\x03\0\0\0", "old GGML/GGJT format"],
    ["old GGML", "lmgg\x03\0\0\0", "old GGML/GGJT format"],
    ["reversed bytes", "FUGG\0\0\0\x03", "big-endian"],
    ["anything else", "hello", 'it begins with 0x68656c6c, not "GGUF"'],
  ])("%s", (_, content, expected) => {
    const { code, message, next } = refusal(content);
    expect(code).toBe("bad-model");
    expect(message).toContain(expected);
    expect(next).toBeTruthy();
  });

  it.each([
    [0x03000000, "big-endian"],
    [0x02000000, "big-endian"],
    [1, "version 1, which was replaced"],
    [0, "version 0; sluice reads versions 2 and 3"],
    [4, "version 4; sluice reads versions 2 and 3"],
  ])("version %i", (version, expected) => {
    const { code, message } = refusal(header(0, 0, version));
    expect(code).toBe("unsupported");
    expect(message).toContain(expected);
  });

  it("a part of a split model", () => {
    const part = refusal(
      header(0, 2),
      key("split.no", 2, Buffer.of(1, 0)),
      key("split.count", 2, Buffer.of(3, 0)),
      padding,
    );
    expect(part).toMatchObject({
      code: "bad-model",
      message: "FILE is part 2 of 3 of a split model, but is not named so",
    });
    expect(refusal(header(0, 1), key("split.count", 2, Buffer.of(1, 0)), padding).code).toBe("none");
  });
});

describe("hostile headers", () => {
  it.each<[string, Uint8Array[], string]>([
    ["cut in the header", [header(0, 0).subarray(0, 20)], "needs 8 more bytes, but 4 are left"],
    [
      "2^64-1 tensors",
      [header(2n ** 64n - 1n, 0)],
      "number of tensors at byte 16 needs about 4.43e+20 more bytes",
    ],
    ["2^63 keys", [header(0, 2n ** 63n)], "number of metadata keys"],
    ["more keys than there are", [header(0, 2), key("a", UINT32, u32(1)), padding], "metadata key 2 of 2"],
    ["an empty key", [header(0, 1), key("", UINT32, u32(1)), padding], "metadata key 1 of 1 is empty"],
    [
      "a repeated key",
      [header(0, 2), key("a", UINT32, u32(1)), key("a", UINT32, u32(1))],
      'metadata "a" is there twice',
    ],
    ["an unknown type", [header(0, 1), key("a", 13, padding)], "has the unknown type 13"],
    [
      "a string of 2^64-1 bytes",
      [header(0, 1), key("a", STRING, u64(2n ** 64n - 1n)), padding],
      "about 1.84e+19 more bytes",
    ],
    [
      "a key of 70,000 bytes",
      [header(0, 1), key("a".repeat(70_000), UINT32, u32(1))],
      "more than the 65535 that are sane",
    ],
    [
      "an array of 2^40 numbers",
      [header(0, 1), key("a", ARRAY, u32(UINT32), u64(2n ** 40n)), padding],
      "4398046511104 more bytes",
    ],
    [
      "an array of 2^63 strings",
      [header(0, 1), key("a", ARRAY, u32(STRING), u64(2n ** 63n)), padding],
      "7.38e+19 more bytes",
    ],
    [
      "an array's string too long",
      [header(0, 1), key("a", ARRAY, u32(STRING), u64(1), u64(2n ** 50n)), padding],
      "1125899906842624 more",
    ],
    ["an array of arrays", [header(0, 1), key("a", ARRAY, u32(ARRAY), u64(1)), padding], "array of arrays"],
    ["alignment 0", [header(0, 1), key("general.alignment", UINT32, u32(0)), padding], "power of two"],
    ["alignment 7", [header(0, 1), key("general.alignment", UINT32, u32(7)), padding], "power of two"],
    [
      "alignment as uint64",
      [header(0, 1), key("general.alignment", UINT64, u64(32)), padding],
      "must be uint32",
    ],
    ["a name of 64 bytes", [header(1, 0), tensor("n".repeat(64), [1], 0, 0), padding], "more than the 63"],
    [
      "a repeated name",
      [header(2, 0), tensor("n", [8], 0, 0), tensor("n", [8], 0, 32), padding],
      'tensor "n" is there twice',
    ],
    ["5 dimensions", [header(1, 0), tensor("n", [1, 1, 1, 1, 1], 0, 0), padding], "has 5 dimensions"],
    ["2^64 elements", [header(1, 0), tensor("n", [2n ** 32n, 2n ** 32n], 0, 0), padding], "impossible shape"],
    ["2^54 bytes", [header(1, 0), tensor("n", [2n ** 52n], 0, 0), padding], "it was cut short"],
    [
      "a negative dimension",
      [header(1, 0), tensor("n", [8, 2n ** 64n - 1n], 0, 0), padding],
      "impossible shape",
    ],
    [
      "a removed type",
      [header(1, 0), tensor("n", [32], 4, 0), padding],
      "of type q4_2, which ggml no longer has; sluice reads f32, f16,",
    ],
    [
      "an unknown tensor type",
      [header(1, 0), tensor("n", [32], 43, 0), padding],
      'tensor "n" is of the unknown type 43; sluice reads f32, f16,',
    ],
    [
      "the highest number of a tensor type",
      [header(1, 0), tensor("n", [32], 0xffffffff, 0), padding],
      "of the unknown type 4294967295",
    ],
    [
      "part of a block",
      [header(1, 0), tensor("n", [48], 8, 0), padding],
      "48 columns, no multiple of the 32 values in a block of q8_0",
    ],
    [
      "part of a block of 256",
      [header(1, 0), tensor("n", [128, 2], 12, 0), padding],
      "128 columns, no multiple of the 256 values in a block of q4_K",
    ],
    [
      "an unaligned offset",
      [header(2, 0), tensor("n", [4], 0, 0), tensor("m", [4], 0, 16), padding],
      'tensor "m" is at offset 16',
    ],
    [
      "an overlap",
      [header(2, 0), tensor("n", [16], 0, 0), tensor("m", [16], 0, 32), padding],
      "the one before it ends at 64",
    ],
    ["a gap", [header(1, 0), tensor("n", [8], 0, 32), padding], 'tensor "n" is at offset 32'],
    [
      "an offset of 2^64-32",
      [header(1, 0), tensor("n", [8], 0, 2n ** 64n - 32n), padding],
      "is at offset 18446744073709552000",
    ],
    ["a tensor past the end", [header(1, 0), tensor("n", [2048], 0, 0), padding], "it was cut short"],
  ])("%s", (_, parts, expected) => {
    const { code, message } = refusal(...parts);
    expect(message).toContain(expected);
    expect(code).toBe("bad-model");
  });

  it("accepts tensors in another order than the table's, and scalars", () => {
    expect(refusal(header(2, 0), tensor("n", [8], 0, 32), tensor("m", [], 0, 0), padding).code).toBe("none");
  });
});

describe("damaged files", () => {
  it("give a SluiceError or open, whatever byte is changed, quickly", () => {
    const sound = writeSmallFile(path);
    const random = seeded(7);
    const outcomes = { opened: 0, refused: 0 };
    const start = performance.now();
    for (let round = 0; round < 4000; round++) {
      const bytes = Buffer.from(sound);
      const flips = 1 + Math.floor(random() * 3);
      for (let flip = 0; flip < flips; flip++) {
        bytes[Math.floor(random() * bytes.length)] = random() < 0.3 ? 255 : Math.floor(random() * 256);
      }
      writeFileSync(path, random() < 0.1 ? bytes.subarray(0, Math.floor(random() * bytes.length)) : bytes);
      outcomes[openEverything(path)]++;
    }
    expect(performance.now() - start).toBeLessThan(20_000);
    expect(outcomes.opened).toBeGreaterThan(100);
    expect(outcomes.refused).toBeGreaterThan(100);
  });
});

function openEverything(file: string): "opened" | "refused" {
  try {
    const gguf = openGguf(file);
    try {
      for (const entry of gguf.metadata.values()) {
        if (entry.type === "array" && entry.items === "string") for (const _ of readStrings(gguf, entry));
      }
      expect(() => planModel(gguf)).toThrow(SluiceError);
    } finally {
      gguf.close();
    }
    return "opened";
  } catch (error) {
    if (error instanceof SluiceError) return "refused";
    throw error;
  }
}
