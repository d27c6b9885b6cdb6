import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { fingerprint } from "../../src/gguf/fingerprint.ts";
import { openGguf } from "../../src/gguf/open.ts";
import { openModel } from "../../src/hf/open-model.ts";
import { buildTokenizerData } from "../../src/text/build-tokenizer-data.ts";
import { createTokenizer } from "../../src/text/tokenizer.ts";
import { MODEL, sluice } from "../cli/spawn.ts";
import { allLogits, modelFolder, nmse } from "../engine/model-fixture.ts";
import {
  makeHfFolder,
  safeTensorsBytes,
  type Tensor,
  writeJson,
  writeSafeTensors,
  writeShards,
} from "./make-folder.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-hf-"));
const models = modelFolder();
afterAll(() => {
  models.remove();
  rmSync(root, { recursive: true });
});

const whole = join(root, "tiny");
makeHfFolder(MODEL, whole);
const sharded = join(root, "sharded");
makeHfFolder(MODEL, sharded, 3);
const TEXTS = ["What is the capital of France?", "a  b\n\n 123456 don't ÄÖ 你好 🙂", "<|im_end|>"];
const ids = [5, 100, 7, 250, 31, 5, 5, 199, 64, 1, 2, 3];

describe("a folder of Hugging Face", () => {
  it.each([
    ["in one file", whole],
    ["in several", sharded],
  ])("%s gives the logits of the same model in GGUF, to the bit", async (_, folder) => {
    const want = await models.open(MODEL, { dtype: "f32" });
    const got = await models.open(folder, { dtype: "f32" });
    expect(nmse(await allLogits(got, ids), await allLogits(want, ids))).toBe(0);
    await got.close();
    await want.close();
  });

  it.each(["f16", "q8", "native"] as const)("runs as %s", async (dtype) => {
    const model = await models.open(whole, { dtype });
    const exact = await models.open(MODEL, { dtype: "f32" });
    expect(nmse(await allLogits(model, ids), await allLogits(exact, ids))).toBeLessThan(1e-3);
    await model.close();
    await exact.close();
  });

  it("has the tokenizer and the template of the same model in GGUF", () => {
    const [want, got] = [openGguf(MODEL), openModel(whole)].map((gguf) => {
      const data = buildTokenizerData(gguf);
      gguf.close();
      return data;
    });
    expect(got.chatTemplates).toEqual(want.chatTemplates);
    expect(got.eos).toBe(want.eos);
    expect(got.addBos).toBe(want.addBos);
    expect(got.preTokenizer).toBe("smaug-bpe");
    for (const special of [true, false])
      for (const text of TEXTS)
        expect(createTokenizer(got).encode(text, { special })).toEqual(
          createTokenizer(want).encode(text, { special }),
        );
  });

  it("is found by any of its files, and another one has another fingerprint", () => {
    const prints = [whole, join(whole, "config.json"), join(whole, "model.safetensors"), sharded].map(
      (path) => {
        const gguf = openModel(path);
        const print = fingerprint(gguf);
        gguf.close();
        return print;
      },
    );
    expect(prints[1]).toBe(prints[0]);
    expect(prints[2]).toBe(prints[0]);
    expect(prints[3]).not.toBe(prints[0]);
  });

  it("answers on the command line, can be inspected, and becomes a GGUF file", async () => {
    const answer = ["-p", TEXTS[0], "--temp", "0", "--dtype", "f32", "--temp-cache"];
    const want = await sluice(["run", MODEL, ...answer]);
    expect(await sluice(["run", whole, ...answer])).toMatchObject({ code: 0, stdout: want.stdout });
    const inspected = await sluice(["inspect", whole]);
    expect(inspected).toMatchObject({ code: 0, stderr: "" });
    expect(inspected.stdout).toContain("sluice can run it");
    const out = join(root, "q8.gguf");
    expect(await sluice(["quantize", whole, out, "q8_0"])).toMatchObject({ code: 0 });
    const again = ["-p", TEXTS[0], "--temp", "0", "--dtype", "q8", "--temp-cache"];
    expect(await sluice(["run", out, ...again])).toMatchObject({ code: 0, stdout: want.stdout });
  });
});

describe("a folder with something wrong", () => {
  let made = 0;
  const tensor: Tensor = { dtype: "F32", shape: [2, 3], bytes: new Uint8Array(24) };
  const files: Readonly<Record<string, (folder: string) => void>> = {
    "a header longer than the file": (folder) =>
      writeFileSync(
        join(folder, "model.safetensors"),
        Buffer.from([255, 255, 255, 255, 255, 255, 255, 127, 0]),
      ),
    "a file cut short": (folder) => {
      const bytes = readFileSync(join(whole, "model.safetensors"));
      writeFileSync(join(folder, "model.safetensors"), bytes.subarray(0, bytes.length - 100));
    },
    "a header that is no JSON": (folder) => {
      const bytes = safeTensorsBytes({}, new Uint8Array(0));
      bytes[8] = 0x5b;
      writeFileSync(join(folder, "model.safetensors"), bytes);
    },
    "tensors that overlap": (folder) =>
      writeFileSync(
        join(folder, "model.safetensors"),
        safeTensorsBytes(
          {
            a: { dtype: "F32", shape: [2], data_offsets: [0, 8] },
            b: { dtype: "F32", shape: [2], data_offsets: [4, 12] },
          },
          new Uint8Array(12),
        ),
      ),
    "a type that is no float": (folder) =>
      writeSafeTensors(join(folder, "model.safetensors"), [["a", { ...tensor, dtype: "F8_E4M3" }]]),
    "bytes that do not fit the shape": (folder) =>
      writeSafeTensors(join(folder, "model.safetensors"), [["a", { ...tensor, shape: [2, 4] }]]),
    "a tensor that nobody knows": (folder) =>
      writeSafeTensors(join(folder, "model.safetensors"), [["model.layers.0.mlp.router.weight", tensor]]),
    "a missing part": (folder) => {
      writeShards(
        folder,
        [
          ["model.norm.weight", tensor],
          ["lm_head.weight", tensor],
        ],
        2,
      );
      rmSync(join(folder, "model-00002-of-00002.safetensors"));
    },
    "an index that leads elsewhere": (folder) =>
      writeJson(join(folder, "model.safetensors.index.json"), {
        weight_map: { a: "../tiny/model.safetensors" },
      }),
    "parts without an index": (folder) => {
      writeShards(
        folder,
        [
          ["model.norm.weight", tensor],
          ["lm_head.weight", tensor],
        ],
        2,
      );
      rmSync(join(folder, "model.safetensors.index.json"));
    },
    "no weights at all": () => {},
    "another architecture": (folder) => change(folder, "config.json", { model_type: "mamba" }),
    "weights that are quantized": (folder) =>
      change(folder, "config.json", { quantization_config: { quant_method: "gptq" } }),
    "a number that makes no sense": (folder) => change(folder, "config.json", { hidden_size: -64 }),
    "another kind of tokenizer": (folder) =>
      change(folder, "tokenizer.json", { model: { type: "Unigram", vocab: [] } }),
    "a pre-tokenizer that nobody knows": (folder) =>
      change(folder, "tokenizer.json", { pre_tokenizer: { type: "Split", pattern: { Regex: "x+" } } }),
    "a configuration that is no JSON": (folder) => writeFileSync(join(folder, "config.json"), "{"),
  };

  it.each([
    ["a header longer than the file", "bad-model", "says that its header has"],
    ["a file cut short", "bad-model", "gives bytes"],
    ["a header that is no JSON", "bad-model", "no JSON"],
    ["tensors that overlap", "bad-model", "overlap"],
    ["a type that is no float", "unsupported", "F8_E4M3"],
    ["bytes that do not fit the shape", "bad-model", "which takes 32"],
    ["a tensor that nobody knows", "unsupported", "mlp.router"],
    ["a missing part", "io", "model-00002-of-00002.safetensors"],
    ["an index that leads elsewhere", "bad-model", "weight_map"],
    ["parts without an index", "io", "index.json"],
    ["no weights at all", "io", "no weights in safetensors"],
    ["another architecture", "unsupported", '"mamba"'],
    ["weights that are quantized", "unsupported", "quantization_config"],
    ["a number that makes no sense", "bad-model", "hidden_size is -64"],
    ["another kind of tokenizer", "unsupported", '"Unigram"'],
    ["a pre-tokenizer that nobody knows", "unsupported", "does not know"],
    ["a configuration that is no JSON", "bad-model", "no JSON"],
  ])("%s is refused: %s", (what, code, message) => {
    const folder = join(root, `wrong-${made++}`);
    makeHfFolder(MODEL, folder);
    rmSync(join(folder, "model.safetensors"));
    const keeps = /architecture|quantized|number|tokenizer|configuration/.test(what);
    if (keeps)
      writeFileSync(join(folder, "model.safetensors"), readFileSync(join(whole, "model.safetensors")));
    files[what](folder);
    expect(() => openModel(folder)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    );
  });
});

it("without tokenizer.json computes with ids, and says why text is refused", async () => {
  const folder = join(root, "wordless");
  makeHfFolder(MODEL, folder);
  rmSync(join(folder, "tokenizer.json"));
  const tokenizer = createTokenizer(buildTokenizerData(openModel(folder)));
  expect(tokenizer.encode("", { bos: true })).toHaveLength(1);
  expect(() => tokenizer.encode("Hello")).toThrow(
    expect.objectContaining({ code: "unsupported", next: expect.stringContaining("tokenizer.json") }),
  );
  expect((await sluice(["inspect", folder])).stdout).toContain("tokenizer: none, text cannot be read");
});

/** Change some fields of a JSON file. */
function change(folder: string, name: string, fields: object): void {
  const path = join(folder, name);
  writeJson(path, { ...JSON.parse(readFileSync(path, "utf8")), ...fields });
}

const vectors = new URL("../../../shared/vectors/models/hf", import.meta.url).pathname;

describe.runIf(existsSync(vectors))("against the logits of transformers", () => {
  const cases: { folder: string; tokens: number[] }[] = existsSync(vectors)
    ? JSON.parse(readFileSync(join(vectors, "manifest.json"), "utf8")).cases
    : [];

  it.each(cases.filter(({ folder }) => existsSync(join(vectors, folder))))(
    "$folder",
    async ({ folder, tokens }) => {
      const model = await models.open(join(vectors, folder), { dtype: "f32" });
      const got = await allLogits(model, tokens);
      await model.close();
      const bytes = readFileSync(join(vectors, folder, "transformers-logits.f32.bin"));
      const all = new Float32Array(Uint8Array.from(bytes).buffer);
      const size = all.length / tokens.length;
      const want = tokens.map((_, row) => all.subarray(row * size, (row + 1) * size));
      expect(nmse(got, want)).toBeLessThan(1e-10);
    },
  );
});
