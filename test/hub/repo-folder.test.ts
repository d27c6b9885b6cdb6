/** Links and copies in the cache, and what may be removed of it. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findDownload, removeDownload } from "../../src/hub/remove.ts";
import { blobPath, placeFile, snapshotPath, writeMain } from "../../src/hub/repo-folder.ts";
import { readMain } from "../../src/models-on-disk/hugging-face.ts";

const OLD = "a".repeat(40);
const NEW = "b".repeat(40);

let cacheDir: string;
let folder: string;
beforeEach(() => {
  cacheDir = mkdtempSync(join(tmpdir(), "sluice-repo-"));
  folder = join(cacheDir, "models--org--repo");
});
afterEach(() => rmSync(cacheDir, { recursive: true }));

/** A blob of one letter, as often as it is long, and a file of a commit that is it. */
function add(commit: string, path: string, letter: string, bytes: number, link?: typeof symlinkSync) {
  const file = { path, bytes, digest: letter.repeat(64) };
  mkdirSync(join(folder, "blobs"), { recursive: true });
  writeFileSync(blobPath(folder, file), letter.repeat(bytes));
  placeFile(folder, commit, file, link);
  writeMain(folder, commit);
  return join(snapshotPath(folder, commit), path);
}
const blobs = () => readdirSync(join(folder, "blobs")).map((name) => name.replace(/(.)\1+/, "$1"));
const remove = (name: string) => {
  const download = findDownload(cacheDir, name);
  removeDownload(download);
  return download;
};

describe("where links cannot be made", () => {
  const noLinks = (() => {
    throw Object.assign(new Error("not permitted"), { code: "EPERM" });
  }) as typeof symlinkSync;

  it("the file itself is in the snapshot, and nothing is there twice", () => {
    const path = add(NEW, "x/a.gguf", "1", 10, noLinks);
    expect(lstatSync(path).isFile()).toBe(true);
    expect(readFileSync(path, "utf8")).toBe("1".repeat(10));
    expect(blobs()).toEqual([]);
    expect(remove("hf:org/repo")).toMatchObject({ files: ["x/a.gguf"], bytes: 10 });
    expect(existsSync(folder)).toBe(false);
  });

  it("a copy is made of a blob that another snapshot links to", () => {
    const old = add(OLD, "a.gguf", "1", 10);
    const path = add(NEW, "a.gguf", "1", 10, noLinks);
    expect(lstatSync(old).isSymbolicLink()).toBe(true);
    expect(readFileSync(path, "utf8")).toBe(readFileSync(old, "utf8"));
    expect(blobs()).toEqual(["1"]);
  });

  it("other errors are errors", () => {
    const full = (() => {
      throw Object.assign(new Error("full"), { code: "ENOSPC" });
    }) as typeof symlinkSync;
    expect(() => add(NEW, "a.gguf", "1", 10, full)).toThrow("full");
    expect(blobs()).toEqual(["1"]);
  });
});

describe("removing", () => {
  it("a model takes it out of all snapshots, and keeps blobs that other files are", () => {
    add(OLD, "a-Q8_0.gguf", "1", 10);
    add(OLD, "a-F16.gguf", "2", 20);
    add(OLD, "same.bin", "3", 5);
    add(NEW, "a-Q8_0.gguf", "4", 40);
    add(NEW, "copy-Q5_0.gguf", "1", 10);
    expect(findDownload(cacheDir, "hf:org/repo:Q8_0")).toMatchObject({ files: ["a-Q8_0.gguf"], bytes: 40 });
    remove("hf:org/repo:q8_0");
    expect(blobs()).toEqual(["1", "2", "3"]);
    expect(readdirSync(snapshotPath(folder, NEW))).toEqual(["copy-Q5_0.gguf"]);
    expect(readdirSync(snapshotPath(folder, OLD))).toEqual(["a-F16.gguf", "same.bin"]);
    expect(readMain(folder)).toBe(NEW);
    expect(remove("hf:org/repo:copy").bytes).toBe(10);
    expect(blobs()).toEqual(["2", "3"]);
    expect(readMain(folder)).toBeUndefined();
    expect(remove("hf:org/repo").bytes).toBe(20);
    expect(readFileSync(join(snapshotPath(folder, OLD), "same.bin"), "utf8")).toBe("33333");
  });

  it("all parts of a split one, and the folder of safetensors as one", () => {
    for (const part of [1, 2]) add(NEW, `q/a-0000${part}-of-00002.gguf`, `${part}`, 10);
    expect(remove("hf:org/repo")).toMatchObject({ bytes: 20 });
    expect(existsSync(folder)).toBe(false);
    for (const [index, name] of ["config.json", "tokenizer.json", "model.safetensors"].entries())
      add(NEW, name, `${index}`, 1);
    expect(remove("hf:org/repo")).toMatchObject({ bytes: 3 });
    expect(existsSync(folder)).toBe(false);
  });

  it("takes what is left of downloads only where no quant is given", () => {
    add(NEW, "a-Q8_0.gguf", "1", 10);
    writeFileSync(join(folder, "blobs/5.incomplete"), "55555");
    expect(remove("hf:org/repo:Q8_0").bytes).toBe(10);
    expect(blobs()).toEqual(["5.incomplete"]);
    expect(remove("hf:org/repo")).toMatchObject({ files: ["1 unfinished"], bytes: 5 });
    expect(existsSync(folder)).toBe(false);
  });

  it("knows the blobs of a cache that is named from here", () => {
    add(NEW, "a-Q8_0.gguf", "1", 10);
    const download = findDownload(relative(process.cwd(), cacheDir), "hf:org/repo");
    expect(download.bytes).toBe(10);
    removeDownload(download);
    expect(existsSync(folder)).toBe(false);
  });

  it("guesses nothing", () => {
    add(NEW, "a-Q8_0.gguf", "1", 10);
    add(NEW, "a-Q4_K_M.gguf", "2", 10);
    expect(() => findDownload(cacheDir, "hf:org/repo")).toThrow(
      /could be 2 models: a-Q4_K_M.gguf, a-Q8_0.gguf/,
    );
    expect(() => findDownload(cacheDir, "hf:org/repo:F16")).toThrow(/is not here; there is a-Q4_K_M.gguf/);
    expect(() => findDownload(cacheDir, "hf:org/other")).toThrow(/is not in the Hugging Face cache/);
    for (const name of ["ollama:x", "hf:..", "/tmp/x", "hf:a/b/c", "hf:../.."])
      expect(() => findDownload(cacheDir, name)).toThrow(/no name of a model/);
  });

  it("follows no link out of the repository", () => {
    const outside = join(cacheDir, "outside.gguf");
    writeFileSync(outside, "precious");
    mkdirSync(snapshotPath(folder, NEW), { recursive: true });
    symlinkSync(outside, join(snapshotPath(folder, NEW), "a.gguf"));
    mkdirSync(join(cacheDir, "elsewhere"));
    writeFileSync(join(cacheDir, "elsewhere/b.gguf"), "precious");
    symlinkSync(join(cacheDir, "elsewhere"), join(snapshotPath(folder, NEW), "linked"));
    expect(remove("hf:org/repo")).toMatchObject({ files: ["a.gguf"], bytes: 0 });
    expect(readFileSync(outside, "utf8")).toBe("precious");
    expect(readFileSync(join(cacheDir, "elsewhere/b.gguf"), "utf8")).toBe("precious");
  });
});

it.runIf(process.platform !== "win32")(
  "nothing outside of a repository is removed or written through links",
  () => {
    const outside = mkdtempSync(join(tmpdir(), "sluice-outside-"));
    writeFileSync(join(outside, "precious"), "p");
    mkdirSync(join(folder, "snapshots"), { recursive: true });
    symlinkSync(outside, join(folder, "blobs"));
    expect(() => findDownload(cacheDir, "hf:org/repo")).toThrow(/is a link to .*, outside of/);
    rmSync(join(folder, "blobs"));
    mkdirSync(join(folder, "blobs"));
    symlinkSync(outside, join(folder, "snapshots", NEW));
    expect(() => add(NEW, "m.gguf", "x", 3)).toThrow(/is a link to .*, outside of/);
    rmSync(join(folder, "snapshots"), { recursive: true });
    symlinkSync(outside, join(folder, "snapshots"));
    expect(() => findDownload(cacheDir, "hf:org/repo")).toThrow(/is a link to .*, outside of/);
    expect(readdirSync(outside)).toEqual(["precious"]);
    rmSync(outside, { recursive: true });
  },
);
