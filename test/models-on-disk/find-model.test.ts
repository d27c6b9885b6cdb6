import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SluiceError } from "../../src/errors.ts";
import { findModel } from "../../src/models-on-disk/find-model.ts";
import { modelPlaces } from "../../src/models-on-disk/places.ts";
import { sourceName } from "../../src/models-on-disk/source-name.ts";
import { tempFolder } from "../gguf/temp-folder.ts";
import { addHuggingFace, addLmStudio, addOllama } from "./stores.ts";

const root = tempFolder();
const places = {
  huggingFace: join(root, "hub"),
  ollama: [join(root, "ollama")],
  lmStudio: [join(root, "lm"), join(root, "old")],
};
const file = join(root, "content");
writeFileSync(file, "any");
const find = (text: string) => findModel(text, places);

function refusal(text: string): { code: string; message: string; next: string | undefined } {
  try {
    return { code: "none", message: find(text), next: undefined };
  } catch (error) {
    if (error instanceof SluiceError) return { code: error.code, message: error.message, next: error.next };
    throw error;
  }
}

describe("paths", () => {
  it("are given back, and come before names", () => {
    for (const path of ["model.gguf", "/nowhere/x.gguf", "C:\\models\\x.gguf", file])
      expect(find(path)).toBe(path);
  });

  it.each([
    "hf:",
    "hf:../../etc",
    "hf:a/..",
    "hf:a/b:",
    "ollama:",
    "ollama:a/b/c/d",
    "lmstudio:a b",
    "hf:a/b:../x",
    "hf:\x1b[2J",
  ])("%j is no name", (text) => {
    expect(refusal(text)).toMatchObject({
      code: "bad-input",
      message: `${JSON.stringify(text)} is no name of a model`,
    });
  });
});

describe("the Hugging Face cache", () => {
  const part = (number: number) => `big/Big-BF16-0000${number}-of-00002.gguf`;
  const snapshot = addHuggingFace(places.huggingFace, "org/Tiny-GGUF", {
    "Tiny-Q4_K_M.gguf": file,
    "Tiny-Q4_K_S.gguf": file,
    "Tiny-Q8_0.gguf": file,
    "mmproj-Tiny-F16.gguf": file,
    [part(1)]: file,
    [part(2)]: file,
    "README.md": file,
  });
  addHuggingFace(
    places.huggingFace,
    "org/Tiny-GGUF",
    { "Tiny-Q2_K.gguf": file },
    { revision: "old", main: false },
  );
  const single = addHuggingFace(places.huggingFace, "org/Single--Name", { "s.gguf": file }, { main: false });
  const tensors = addHuggingFace(places.huggingFace, "org/Tensors", {
    "config.json": file,
    "model.safetensors": file,
  });

  it.each([
    ["q8_0", "Tiny-Q8_0.gguf"],
    ["Q4_K_M", "Tiny-Q4_K_M.gguf"],
    ["Tiny-Q4_K_S.gguf", "Tiny-Q4_K_S.gguf"],
    ["k_s", "Tiny-Q4_K_S.gguf"],
    ["bf16", part(1)],
  ])("quant %s", (quant, name) => {
    expect(find(`hf:org/Tiny-GGUF:${quant}`)).toBe(join(snapshot, name));
    expect(find(`hf:ORG/tiny-gguf:${quant.toLowerCase()}`)).toBe(join(snapshot, name));
  });

  it("takes what is there alone, and another snapshot where the main one has none", () => {
    expect(find("hf:org/Single--Name")).toBe(join(single, "s.gguf"));
    expect(find("hf:org/Tiny-GGUF:Q2_K")).toBe(join(snapshot, "../old/Tiny-Q2_K.gguf"));
  });

  it("lists what there is for what is ambiguous or missing", () => {
    expect(refusal("hf:org/Tiny-GGUF")).toEqual({
      code: "bad-input",
      message:
        "hf:org/Tiny-GGUF could be 4 models: Tiny-Q4_K_M.gguf, Tiny-Q4_K_S.gguf, Tiny-Q8_0.gguf, big/Big-BF16.gguf",
      next: "Name one by a part of its file name: hf:org/Tiny-GGUF:Q4_K_M",
    });
    expect(refusal("hf:org/Tiny-GGUF:q4").message).toBe(
      "hf:org/Tiny-GGUF:q4 could be 2 models: Tiny-Q4_K_M.gguf, Tiny-Q4_K_S.gguf",
    );
    expect(refusal("hf:org/Tiny-GGUF:IQ3_XS").message).toContain(
      "is not here; of hf:org/Tiny-GGUF there is Tiny-Q4_K_M.gguf, ",
    );
    expect(refusal("hf:org/none").message).toBe(
      `hf:org/none is not in the Hugging Face cache ${places.huggingFace}; there is org/Single--Name, org/Tiny-GGUF`,
    );
    expect(refusal("hf:org/Tensors:q8_0").message).toMatch(
      /has no GGUF file here; in .* there is config\.json, model\.safetensors$/,
    );
  });

  it("gives the folder of a repository in safetensors", () => {
    expect(find("hf:org/Tensors")).toBe(tensors);
  });

  it("leaves out a file whose download was not finished", () => {
    symlinkSync("../../blobs/nothing", join(single, "half.gguf"));
    expect(find("hf:org/Single--Name")).toBe(join(single, "s.gguf"));
    expect(refusal("hf:org/Single--Name:half").message).toContain("is not here");
  });
});

describe("an Ollama store", () => {
  const [store] = places.ollama;
  const other = join(root, "other");
  writeFileSync(other, "other");
  const blob = addOllama(store, "registry.ollama.ai/library/tiny/latest", file);
  addOllama(store, "registry.ollama.ai/library/tiny/1b", file);
  const own = addOllama(store, "registry.ollama.ai/someone/own/q8", other);
  addOllama(store, "hf.co/org/Tiny-GGUF/Q4_K_M", other);

  it.each([
    ["tiny", blob],
    ["Tiny:1B", blob],
    ["someone/own", own],
    ["hf.co/org/Tiny-GGUF:q4_k_m", own],
  ])("%s", (name, path) => expect(find(`ollama:${name}`)).toBe(path));

  it("tells what a blob is called", () => {
    expect(sourceName(blob)).toBe("tiny-1b.gguf");
    expect(sourceName(own)).toBe("hf.co-org-Tiny-GGUF-Q4_K_M.gguf");
    expect(sourceName(`/nowhere/blobs/${"sha256-"}${"0".repeat(64)}`)).toBe(`sha256-${"0".repeat(64)}`);
  });

  it("lists what there is", () => {
    const all = "hf.co/org/Tiny-GGUF:Q4_K_M, tiny:1b, tiny:latest, someone/own:q8";
    expect(refusal("ollama:none").message).toBe(`ollama:none is not in ${store}; there is ${all}`);
    expect(refusal("ollama:tiny:7b").message).toContain(all);
    addOllama(store, "registry.ollama.ai/library/two/a", file);
    addOllama(store, "registry.ollama.ai/library/two/b", file);
    expect(refusal("ollama:two")).toMatchObject({
      message: "ollama:two could be two:a, two:b",
      next: "Give the tag too: ollama:two:a",
    });
  });

  it.each([
    ["no JSON", "{"],
    ["no layers", "{}"],
    ["no object", "null"],
    [
      "no model",
      JSON.stringify({
        layers: [null, 1, { mediaType: "application/vnd.ollama.image.adapter", digest: "x" }],
      }),
    ],
    [
      "a way out",
      JSON.stringify({
        layers: [{ mediaType: "application/vnd.ollama.image.model", digest: "sha256:../../x" }],
      }),
    ],
  ])("refuses a manifest with %s", (_, text) => {
    const folder = join(store, "manifests/registry.ollama.ai/library/broken");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "latest"), text);
    expect(refusal("ollama:broken")).toMatchObject({
      code: "unsupported",
      message: "the manifest of ollama:broken:latest names no GGUF model, or several",
    });
    rmSync(folder, { recursive: true });
  });

  it("names a blob that is missing", () => {
    const gone = join(root, "gone");
    writeFileSync(gone, "gone");
    const path = addOllama(store, "registry.ollama.ai/library/gone/latest", gone);
    rmSync(path);
    expect(refusal("ollama:gone")).toMatchObject({ code: "io", message: expect.stringContaining(path) });
  });
});

describe("LM Studio", () => {
  const folder = addLmStudio(places.lmStudio[0], "org/Tiny-GGUF", {
    "Tiny-Q8_0.gguf": file,
    "Tiny-Q4_0.gguf": file,
  });
  const old = addLmStudio(places.lmStudio[1], "someone/Old", { "old.gguf": file });
  addLmStudio(places.lmStudio[1], "org/Twice", { "a.gguf": file });
  addLmStudio(places.lmStudio[1], "other/Twice", { "a.gguf": file });

  it("finds by publisher and model, or the model alone, in both folders", () => {
    expect(find("lmstudio:org/tiny-gguf:Q4_0")).toBe(join(folder, "Tiny-Q4_0.gguf"));
    expect(find("lmstudio:old")).toBe(join(old, "old.gguf"));
  });

  it("lists what there is", () => {
    expect(refusal("lmstudio:org/Tiny-GGUF").message).toContain(
      "could be 2 models: Tiny-Q4_0.gguf, Tiny-Q8_0.gguf",
    );
    expect(refusal("lmstudio:twice").message).toBe("lmstudio:twice could be org/Twice, other/Twice");
    expect(refusal("lmstudio:none").message).toContain(
      "there is org/Tiny-GGUF, org/Twice, other/Twice, someone/Old",
    );
  });
});

describe("where stores are", () => {
  const home = join(root, "home");
  const at = (env: Record<string, string>) => modelPlaces({ env, home });

  it("follows the variables of the programs", () => {
    expect(at({}).huggingFace).toBe(join(home, ".cache/huggingface/hub"));
    expect(at({ XDG_CACHE_HOME: "/c" }).huggingFace).toBe(join("/c/huggingface/hub"));
    expect(at({ HF_HOME: "~/hf" }).huggingFace).toBe(join(home, "hf/hub"));
    expect(at({ HF_HOME: "/h", HF_HUB_CACHE: "/hub" }).huggingFace).toBe("/hub");
    expect(at({}).ollama[0]).toBe(join(home, ".ollama/models"));
    expect(at({ OLLAMA_MODELS: "/o" }).ollama).toEqual(["/o"]);
  });

  it("follows LM Studio where it has moved", () => {
    const usual = [join(home, ".lmstudio/models"), join(home, ".cache/lm-studio/models")];
    expect(at({}).lmStudio).toEqual(usual);
    mkdirSync(home);
    writeFileSync(join(home, ".lmstudio-home-pointer"), `${join(root, "moved")}\n`);
    expect(at({}).lmStudio).toEqual([join(root, "moved/models"), ...usual]);
  });
});
