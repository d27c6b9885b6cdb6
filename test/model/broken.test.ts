import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { SluiceError } from "../../src/errors.ts";
import { openGguf } from "../../src/gguf/open.ts";
import { planModel } from "../../src/model/plan-model.ts";
import { buildTokenizerData } from "../../src/text/build-tokenizer-data.ts";

const VECTORS = new URL("../../../shared/vectors/models/", import.meta.url);

/** A suite that does not run is collected all the same, so files may be missing: they are empty then. */
function readVector(name: string): string {
  const file = new URL(name, VECTORS);
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** Everything that is read of a model before it is unpacked. */
function load(file: URL): void {
  const gguf = openGguf(file.pathname);
  try {
    planModel(gguf);
    buildTokenizerData(gguf);
  } finally {
    gguf.close();
  }
}

/** A word of the message of each refusal that should say what is wrong in particular. */
const NAMED: Readonly<Record<string, string>> = {
  "tensor-missing.gguf": "the tensor blk.2.ffn_down.weight is missing",
  "tensor-extra.gguf": 'no use for the tensor "extra.weight"',
  "shape-wrong.gguf": "blk.0.attn_q.weight has shape [32, 128]; expected [64, 64]",
  "big-endian.gguf": "big-endian",
  "not-gguf-html.gguf": "HTML",
  "not-gguf-zip.gguf": "zip archive",
  "not-gguf-safetensors.gguf": "safetensors",
  "trunc-half-data.gguf": "it was cut short",
  "meta-nheadkv-3.gguf": "3 key-value heads",
  "meta-ropedim-6.gguf": "rope.dimension_count is 6",
  "meta-nheadkv-array-short.gguf": "has 3 items for 5 layers",
  "meta-nlayer-neg.gguf": "block_count is -1",
  "missing-llama.block_count.gguf": "llama.block_count is missing",
};

interface Case {
  file: string;
  right: "accept" | "reject" | "see llama.cpp" | "no crash, either way";
  llamacpp: string;
  note: string;
}

describe.runIf(existsSync(VECTORS))("broken models", () => {
  const cases: Case[] = JSON.parse(readVector("broken/cases.json") || "[]");

  it.each(cases)("$file: $note", ({ file, right, llamacpp }) => {
    const path = new URL(`broken/${file}`, VECTORS);
    // Counts as uint64 do no harm; llama.cpp minds, and its note says so.
    const accept =
      right === "accept" ||
      (right === "see llama.cpp" && llamacpp === "loads") ||
      file === "meta-u64-counts.gguf";
    if (accept) return load(path);
    if (right === "no crash, either way") {
      expect(["nothing", "SluiceError"]).toContain(errorName(path));
      return;
    }
    expect(() => load(path)).toThrow(SluiceError);
    if (NAMED[file]) expect(() => load(path)).toThrow(NAMED[file]);
  });
});

function errorName(path: URL): string {
  try {
    load(path);
    return "nothing";
  } catch (error) {
    return (error as Error).name;
  }
}

interface HeaderCase {
  file: string;
  expect_meta_ok: boolean;
  llamacpp_data_ok: boolean;
}

describe.runIf(existsSync(VECTORS))("llama.cpp's own broken files", () => {
  const lines = readVector("broken-llamacpp/manifest.jsonl")
    .split("\n")
    .filter((line) => line !== "");

  it.each(lines.map((line) => JSON.parse(line) as HeaderCase))(
    "$file",
    ({ file, expect_meta_ok, llamacpp_data_ok }) => {
      const path = new URL(`broken-llamacpp/${file}`, VECTORS).pathname;
      // A header without its tensors' data is a file cut short: openGguf checks both at once.
      if (expect_meta_ok && llamacpp_data_ok) openGguf(path).close();
      else expect(() => openGguf(path)).toThrow(SluiceError);
    },
  );
});

describe.runIf(existsSync(VECTORS))("files that sluice cannot run yet", () => {
  it.each([
    ["bigendian/stories260K-f32-be.gguf", "big-endian"],
    ["../tokenizer/ggml-vocab-llama-bpe.gguf", "holds a vocabulary only"],
  ])("%s", (file, message) => {
    expect(() => load(new URL(file, VECTORS))).toThrow(message);
  });
});
