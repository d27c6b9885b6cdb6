import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { SluiceError } from "../../src/errors.ts";
import { fingerprint } from "../../src/gguf/fingerprint.ts";
import { openGguf } from "../../src/gguf/open.ts";
import { modelFileName, parsePartName, partPath } from "../../src/gguf/split-names.ts";
import type { MetadataInput } from "../../src/gguf/writer.ts";
import { type Change, splitModel } from "./split-files.ts";
import { tempFolder } from "./temp-folder.ts";

const WHOLE = new URL("../../models/tiny-chat-q8_0.gguf", import.meta.url).pathname;
const root = tempFolder();
let folders = 0;

function newFolder(): string {
  const folder = join(root, `set-${folders++}`);
  mkdirSync(folder);
  return folder;
}

function makeSet(change?: Change, sizes: readonly number[] = [0, 5, 9]): string[] {
  return splitModel(WHOLE, newFolder(), "tiny", sizes, change);
}

function withModel<T>(path: string, use: (gguf: ReturnType<typeof openGguf>) => T): T {
  const gguf = openGguf(path);
  try {
    return use(gguf);
  } finally {
    gguf.close();
  }
}

function refusal(path: string): { code: string; message: string; next: string | undefined } {
  try {
    openGguf(path).close();
  } catch (error) {
    if (error instanceof SluiceError) return { code: error.code, message: error.message, next: error.next };
    throw error;
  }
  return { code: "none", message: "", next: undefined };
}

/** Metadata with one value replaced, in the given part. */
function replace(part: number, key: string, value: MetadataInput): Change {
  return (number, metadata) =>
    number === part ? [...metadata.filter(([name]) => name !== key), [key, value]] : metadata;
}

const uint16 = (value: number): MetadataInput => ({ type: "uint16", value });

describe("names of parts", () => {
  it("are read and made", () => {
    const name = parsePartName("/a/b-00001-of-00002-00002-of-00012.gguf")!;
    expect(name).toEqual({ prefix: "/a/b-00001-of-00002", number: 2, count: 12, ending: ".gguf" });
    expect(partPath(name, 11)).toBe("/a/b-00001-of-00002-00011-of-00012.gguf");
    expect(modelFileName("/a/b-00003-of-00012.gguf")).toBe("b.gguf");
    expect(modelFileName("/a/b.gguf")).toBe("b.gguf");
    for (const other of ["b.gguf", "b-1-of-2.gguf", "b-00001-of-00002.bin"])
      expect(parsePartName(other)).toBeUndefined();
  });
});

describe("a split model", () => {
  const paths = makeSet();
  const all = [...paths, join(paths[0], "..")];

  it("is one model, whichever part is given, or the folder", () => {
    const whole = openGguf(WHOLE);
    for (const path of all) {
      withModel(path, (gguf) => {
        expect(gguf.path).toBe(paths[0]);
        expect(gguf.parts.map((part) => part.path)).toEqual(paths);
        expect(gguf.fileBytes).toBe(paths.reduce((sum, part) => sum + readFileSync(part).length, 0));
        expect([...gguf.tensors.keys()]).toEqual([...whole.tensors.keys()]);
        expect(gguf.metadata.get("general.architecture")).toEqual(whole.metadata.get("general.architecture"));
        for (const [name, { offset, bytes }] of gguf.tensors) {
          const [got, want] = [new Uint8Array(bytes), new Uint8Array(bytes)];
          gguf.read(offset, got);
          whole.read(whole.tensors.get(name)!.offset, want);
          expect(Buffer.compare(got, want), name).toBe(0);
        }
      });
    }
    whole.close();
  });

  it("has one fingerprint, which every part changes", () => {
    const print = (path: string) => withModel(path, fingerprint);
    const before = print(paths[0]);
    expect(new Set(all.map(print))).toEqual(new Set([before]));
    expect(print(WHOLE)).not.toBe(before);
    const { parts } = withModel(paths[0], (gguf) => gguf);
    for (const part of parts) {
      const bytes = readFileSync(part.path);
      // The first part has no weights here, only a template.
      const template = bytes.indexOf("tokenizer.chat_template");
      bytes[template < 0 ? part.headerBytes : template + 60] ^= 1;
      const folder = newFolder();
      for (const { path } of parts) copyFileSync(path, join(folder, basename(path)));
      writeFileSync(join(folder, basename(part.path)), bytes);
      expect(print(folder)).not.toBe(before);
    }
  });

  it("may have parts with the metadata of the whole", () => {
    const set = makeSet((_, metadata) => [
      ["general.architecture", { type: "string", value: "llama" }],
      ...metadata.filter(([key]) => key !== "general.architecture"),
    ]);
    expect(refusal(set[2]).code).toBe("none");
  });

  it("may have its ending in capitals", () => {
    const loud = makeSet().map((path) => {
      const other = path.replace(/gguf$/, "GGUF");
      renameSync(path, other);
      return other;
    });
    expect(withModel(loud[1], ({ parts }) => parts.map(({ path }) => path))).toEqual(loud);
  });

  it("may be named as a part and be whole", () => {
    const path = join(newFolder(), "whole-00001-of-00002.gguf");
    copyFileSync(WHOLE, path);
    expect(refusal(path).code).toBe("none");
  });
});

describe("parts that make up no model", () => {
  it("missing ones are named", () => {
    const paths = makeSet();
    rmSync(paths[1]);
    const one = refusal(paths[2]);
    expect(one).toMatchObject({
      code: "io",
      message: `one of the 3 parts of the split model is missing: ${paths[1]}`,
    });
    expect(one.next).toContain(paths[2]);
    rmSync(paths[0]);
    expect(refusal(join(paths[2], "..")).message).toContain(
      `2 of the 3 parts of the split model are missing: ${paths[0]}, ${paths[1]}`,
    );
  });

  it("a part given twice", () => {
    const paths = makeSet();
    copyFileSync(paths[1], paths[2]);
    expect(refusal(paths[0]).message).toBe(
      `${paths[2]} is part 2, so that part is there twice and part 3 is not`,
    );
    expect(refusal(paths[2]).message).toBe(
      `${paths[2]} is part 2 of 3 of a split model, but is not named so`,
    );
  });

  it("a part without its name", () => {
    const paths = makeSet();
    const other = join(paths[0], "..", "model.gguf");
    renameSync(paths[1], other);
    const { message, next } = refusal(other);
    expect(message).toBe(`${other} is part 2 of 3 of a split model, but is not named so`);
    expect(next).toContain("NAME-00002-of-00003.gguf");
  });

  it.each<[string, Change, string]>([
    ["count", replace(2, "split.count", uint16(4)), "belongs to 4 parts, PART1 to 3"],
    ["one part", replace(2, "split.count", uint16(1)), "PART2 is a model of its own, not part 2"],
    ["number", replace(3, "split.no", uint16(7)), "its number is 7 (counted from 0)"],
    ["no number", (_, metadata) => metadata.filter(([key]) => key !== "split.no"), "its number is missing"],
    ["type", replace(1, "split.count", { type: "string", value: "3" }), "split.count is no whole number"],
    ["negative", replace(1, "split.no", { type: "int32", value: -1 }), "split.no is no whole number"],
    [
      "tensors of one part",
      replace(3, "split.tensors.count", { type: "int32", value: 9 }),
      "PART3 belongs to a model of 9 tensors",
    ],
    [
      "tensors of all",
      (_, metadata) =>
        metadata.map(([key, value]) => [key, key.endsWith("tensors.count") ? uint16(99) : value]),
      "tensors; 99 were expected",
    ],
    [
      "architecture",
      replace(3, "general.architecture", { type: "string", value: "qwen2" }),
      "PART3 is of architecture qwen2, PART1 of smollm3",
    ],
  ])("mismatch: %s", (_, change, expected) => {
    const paths = makeSet(change);
    const { code, message, next } = refusal(paths[0]);
    expect(code).toBe("bad-model");
    expect(paths.reduce((text, path, i) => text.replaceAll(path, `PART${i + 1}`), message)).toContain(
      expected,
    );
    expect(next).toBeTruthy();
  });

  it("a tensor in two parts", () => {
    const paths = makeSet();
    const [, , last] = makeSet(undefined, [0, 4, 9]);
    copyFileSync(last, paths[2]);
    expect(refusal(paths[0]).message).toMatch(/^tensor ".*" is in .* and in a part before it$/);
  });

  it("parts joined by cat", () => {
    const paths = makeSet();
    const joined = Buffer.concat(paths.map((path) => readFileSync(path)));
    const other = join(newFolder(), "joined.gguf");
    writeFileSync(other, joined);
    expect(refusal(other).message).toContain("holds several parts of a split model joined as by cat");
    writeFileSync(paths[1], Buffer.concat([readFileSync(paths[1]), readFileSync(paths[2])]));
    expect(refusal(paths[0]).message).toContain(`${paths[1]} holds several parts`);
  });

  it("folders without one, or with several", () => {
    const folder = newFolder();
    expect(refusal(folder)).toMatchObject({ code: "bad-input" });
    expect(refusal(folder).message).toContain("a directory without a split model");
    splitModel(WHOLE, folder, "one", [3, 9]);
    splitModel(WHOLE, folder, "two", [3, 9]);
    expect(refusal(folder).message).toContain("holds 2 split models: one of 2 parts, two of 2 parts");
  });
});

const VECTORS = new URL("../../../shared/vectors/models/split/", import.meta.url).pathname;

describe.runIf(existsSync(VECTORS))("the split vector", () => {
  it("opens from each part and the folder, whatever the time of its files", () => {
    const folder = newFolder();
    const names = [1, 2, 3].map((number) => `stories260K-0000${number}-of-00003.gguf`);
    for (const name of names) {
      copyFileSync(join(VECTORS, name), join(folder, name));
      utimesSync(join(folder, name), 1, 1);
    }
    const prints = [VECTORS, folder, ...names.map((name) => join(VECTORS, name))].map((path) =>
      withModel(path, fingerprint),
    );
    expect(new Set(prints).size).toBe(1);
  });
});
