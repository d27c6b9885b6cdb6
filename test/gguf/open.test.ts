import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readNumbers, readStrings } from "../../src/gguf/arrays.ts";
import { fingerprint } from "../../src/gguf/fingerprint.ts";
import { openGguf } from "../../src/gguf/open.ts";
import type { Gguf, MetadataArray } from "../../src/gguf/types.ts";
import { GgufWriter } from "../../src/gguf/writer.ts";
import { EVERY_TYPE, TENSORS, writeSmallFile } from "./small-file.ts";
import { tempFolder } from "./temp-folder.ts";

const folder = tempFolder();
const path = join(folder, "small.gguf");

function withFile<T>(file: string, use: (gguf: Gguf) => T): T {
  const gguf = openGguf(file);
  try {
    return use(gguf);
  } finally {
    gguf.close();
  }
}

const array = (gguf: Gguf, key: string) => gguf.metadata.get(key) as MetadataArray;

describe("openGguf", () => {
  writeSmallFile(path);

  it("reads back every type of metadata that the writer wrote", () => {
    withFile(path, (gguf) => {
      expect(gguf).toMatchObject({ version: 3, alignment: 32, fileBytes: statSync(path).size });
      const scalars = EVERY_TYPE.filter(([, value]) => value.type !== "array");
      for (const [key, value] of scalars) expect(gguf.metadata.get(key)).toEqual(value);
      expect([...gguf.metadata.keys()]).toEqual(EVERY_TYPE.map(([key]) => key));
      expect(({} as Record<string, unknown>)["harmless"]).toBeUndefined();
    });
  });

  it("reads arrays when asked", () => {
    withFile(path, (gguf) => {
      expect([...readNumbers(gguf, array(gguf, "numbers"))]).toEqual([1, -2, 3]);
      expect([...readNumbers(gguf, array(gguf, "long"))]).toEqual([1, 2 ** 40]);
      expect([...readNumbers(gguf, array(gguf, "bools"))]).toEqual([1, 0]);
      expect([...readNumbers(gguf, array(gguf, "empty"))]).toEqual([]);
      const words = [...readStrings(gguf, array(gguf, "words"))].map((bytes) =>
        Buffer.from(bytes).toString("hex"),
      );
      expect(words).toEqual(["61", "", "636363", "fffe"]);
      expect(() => readNumbers(gguf, array(gguf, "words"))).toThrow(
        "holds strings where numbers were expected",
      );
      expect(() => [...readStrings(gguf, array(gguf, "bools"))]).toThrow(
        "holds bool where strings were expected",
      );
    });
  });

  it("refuses 64-bit integers that a number cannot hold", () => {
    const file = join(folder, "huge-integer.gguf");
    writeSmallFile(file, {
      metadata: [["big", { type: "array", items: "int64", values: [2n ** 53n] }]],
      tensors: [],
    });
    withFile(file, (gguf) => {
      expect(() => readNumbers(gguf, array(gguf, "big"))).toThrow(
        "holds 9007199254740992, which is beyond 2^53",
      );
    });
  });

  it("places tensors and reads their bytes", () => {
    withFile(path, (gguf) => {
      const tensors = [...gguf.tensors.values()];
      expect(tensors.map(({ name, type, shape }) => ({ name, type, shape }))).toEqual(TENSORS);
      expect(tensors.map(({ offset, bytes }) => [offset - gguf.headerBytes, bytes])).toEqual([
        [0, 12],
        [32, 136],
        [192, 0],
      ]);
      const bytes = new Uint8Array(136);
      gguf.read(tensors[1].offset, bytes);
      expect([...bytes]).toEqual(Array.from({ length: 136 }, (_, i) => i + 1));
      expect(() => gguf.read(gguf.fileBytes - 10, new Uint8Array(11))).toThrow("1 more were expected");
    });
  });

  it("obeys general.alignment", () => {
    const file = join(folder, "aligned.gguf");
    writeSmallFile(file, { metadata: [["general.alignment", { type: "uint32", value: 4096 }]] });
    withFile(file, (gguf) => {
      expect(gguf.alignment).toBe(4096);
      expect([...gguf.tensors.values()].map(({ offset }) => offset)).toEqual([4096, 8192, 12288]);
    });
  });

  it("accepts a last tensor without padding and bytes behind it, not a part of the padding", () => {
    const one = join(folder, "one.gguf");
    const writer = new GgufWriter(one, { metadata: [], tensors: [{ name: "x", type: "f32", shape: [1] }] });
    writer.write(new Uint8Array(4));
    writer.close();
    const end = statSync(one).size;
    truncateSync(one, end - 1);
    expect(() => openGguf(one)).toThrow(
      `is padded to byte ${end}, but the file ends at ${end - 1}: it was cut short`,
    );
    truncateSync(one, end - 28);
    withFile(one, (gguf) => expect(gguf.tensors.size).toBe(1));
    truncateSync(one, end - 29);
    expect(() => openGguf(one)).toThrow("it was cut short");
    truncateSync(one, end + 1000);
    withFile(one, (gguf) => expect(gguf.fileBytes).toBe(end + 1000));
  });

  it("reads values across its read boundaries, and vocabularies of megabytes", () => {
    const file = join(folder, "vocabulary.gguf");
    const word = (i: number) => `${i}`.repeat(1 + (i % 7));
    const values = Array.from({ length: 100_000 }, (_, i) => (i === 500 ? "x".repeat(300_000) : word(i)));
    const metadata = Array.from(
      { length: 5 },
      (_, i) => [`words.${i}`, { type: "array", items: "string", values }] as const,
    );
    writeSmallFile(file, { metadata });
    expect(statSync(file).size).toBeGreaterThan(5_000_000);
    withFile(file, (gguf) => {
      const all = [...readStrings(gguf, array(gguf, "words.4"))];
      const wrong = all.findIndex((bytes, i) => Buffer.from(bytes).toString() !== values[i]);
      expect([all.length, wrong]).toEqual([100_000, -1]);
    });
  });

  it("reads beyond 4 GiB", () => {
    const file = join(folder, "large.gguf");
    const rows = 300_000;
    const big = { name: "big", type: "f32", shape: [4096, rows] };
    const fd = openSync(file, "w");
    const header = join(folder, "large-header.gguf");
    const contents = writeSmallFile(header, { metadata: [], tensors: [{ ...big, shape: [4096, 0] }] });
    // The header of the real thing: the same but for the second dimension.
    const at = contents.indexOf("big") + 3 + 4 + 8;
    contents.writeBigUInt64LE(BigInt(rows), at);
    writeSync(fd, contents);
    const bytes = 4096 * rows * 4;
    ftruncateSync(fd, contents.length + bytes);
    writeSync(fd, Uint8Array.of(1, 2, 3, 4), 0, 4, contents.length + bytes - 4);
    closeSync(fd);
    withFile(file, (gguf) => {
      const tensor = gguf.tensors.get("big")!;
      expect(tensor.bytes).toBe(4_915_200_000);
      const last = new Uint8Array(4);
      gguf.read(tensor.offset + tensor.bytes - 4, last);
      expect([...last]).toEqual([1, 2, 3, 4]);
    });
  });

  it("names what it cannot open", () => {
    mkdirSync(join(folder, "directory"));
    expect(() => openGguf(join(folder, "directory"))).toThrow("is a directory without a split model");
    expect(() => openGguf(join(folder, "missing.gguf"))).toThrow("does not exist");
    if (existsSync("/dev/zero")) expect(() => openGguf("/dev/zero")).toThrow("is a device, not a file");
  });
});

describe("fingerprint", () => {
  it("changes with the weights, though header and size are the same", () => {
    const file = join(folder, "print.gguf");
    const bytes = writeSmallFile(file);
    const before = withFile(file, fingerprint);
    bytes[bytes.length - 1] ^= 1;
    writeFileSync(file, bytes);
    expect(withFile(file, fingerprint)).not.toBe(before);
  });

  it("stays when the file is copied, and changes with the header and the size", () => {
    const prints = [{}, {}, { metadata: [] }, { tensors: [] }].map((contents, i) => {
      writeSmallFile(join(folder, `print-${i}.gguf`), contents);
      return withFile(join(folder, `print-${i}.gguf`), fingerprint);
    });
    expect(prints[0]).toBe(prints[1]);
    expect(new Set(prints).size).toBe(3);
  });
});
