import { describe, expect, it, test } from "vitest";
import { f16ToF32, f32ToF16 } from "../../src/quant/half.ts";
import { SUPPORTED_TYPES } from "../../src/quant/index.ts";
import { q8_0, quantizeQ8_0 } from "../../src/quant/q8_0.ts";
import { weightFiles } from "../../src/store/cache.ts";
import { PACKED_DTYPES } from "../../src/store/packed-panel.ts";
import { DTYPES, type Dtype, type StoredTensor } from "../../src/store/types.ts";
import { verifyCache } from "../../src/store/verify.ts";
import { weightBytesAs } from "../../src/unpack/planned-file.ts";
import { nativeName, reencodedTypes, smallerDtypes, tensorDtype } from "../../src/unpack/tensor-dtype.ts";
import { unpack } from "../../src/unpack/unpack.ts";
import { makeFile, makeMixedFile, sourceValues, storedValues, temporaryFolder, withGguf } from "./models.ts";

function roundToQ8(values: Float32Array): Float32Array {
  const blocks = new Uint8Array((values.length / 32) * 34);
  quantizeQ8_0(values, blocks, values.length);
  const rounded = new Float32Array(values.length);
  q8_0.dequantize(blocks, rounded, values.length);
  return rounded;
}

function roundToF16(values: Float32Array): Float32Array {
  return values.map((value) => f16ToF32(f32ToF16(value)));
}

const models = [
  ["q8_0, tied", { type: "q8_0" }],
  ["f16, untied", { type: "f16", untied: true, layers: 2 }],
  ["q4_0", { type: "q4_0", layers: 1 }],
  ["q5_0", { type: "q5_0", layers: 1 }],
  // Native has no form for it.
  ["q1_0", { type: "q1_0", layers: 1, width: 128, feedForward: 256 }],
  // Rows that are no whole panels, columns that are no whole blocks.
  ["f32, odd sizes", { type: "f32", vocabulary: 301, feedForward: 50, layers: 2 }],
  ["bf16, chunks with several rows of panels", { type: "bf16", width: 512, feedForward: 1504, layers: 1 }],
] as const;

describe.each(models)("%s", (_, changes) => {
  const path = makeFile(changes);

  describe.each(DTYPES)("as %s", (dtype) => {
    test.each(["none", "lz4"] as const)("every value is right (compression %s)", async (compression) => {
      const { folder, manifest } = await unpack(path, { dtype, compression, root: temporaryFolder() });
      expect((await verifyCache(folder)).damages).toEqual([]);
      const names: string[] = [];
      for (const file of weightFiles(manifest)) {
        for (const [name, values] of storedValues(folder, file)) {
          names.push(name);
          const exact = withGguf(path, (gguf) => sourceValues(gguf, name));
          const stored = file.tensors.find((tensor) => tensor.sources.includes(name))!;
          expect(stored.dtype).toBe(wantedDtype(stored, changes.type, dtype));
          // The weights of Q8_0 and F16 are kept as they are.
          let expected = exact;
          if (stored.dtype === "q8" && changes.type !== "q8_0") expected = roundToQ8(exact);
          if (stored.dtype === "f16" && changes.type !== "f16") expected = roundToF16(exact);
          expect(Buffer.compare(Buffer.from(values.buffer), Buffer.from(expected.buffer)), name).toBe(0);
        }
      }
      expect(names.sort()).toEqual(withGguf(path, (gguf) => [...gguf.tensors.keys()].sort()));
    });

    test("takes as many bytes as foreseen", async () => {
      const { manifest } = await unpack(path, { root: temporaryFolder() });
      const other = await unpack(path, { dtype, root: temporaryFolder() });
      const bytes = weightFiles(other.manifest).reduce((sum, file) => sum + file.bytes, 0);
      expect(weightBytesAs(manifest, dtype)).toBe(bytes);
    });
  });
});

describe("a file of every type", () => {
  // Four layers of seven matrices, embedding and output: 30 for the 28 types. Gate and up are of different ones.
  const path = makeMixedFile(SUPPORTED_TYPES, 4);

  it.each(DTYPES)("is right as %s, each tensor by its own type", async (dtype) => {
    const { folder, manifest } = await unpack(path, { dtype, root: temporaryFolder() });
    const types = new Set<string>();
    for (const file of weightFiles(manifest)) {
      for (const [name, values] of storedValues(folder, file)) {
        const { type, exact } = withGguf(path, (gguf) => ({
          type: gguf.tensors.get(name)!.type,
          exact: sourceValues(gguf, name),
        }));
        types.add(type);
        const stored = file.tensors.find((tensor) => tensor.sources.includes(name))!;
        let expected = exact;
        if (stored.dtype === "q8" && type !== "q8_0") expected = roundToQ8(exact);
        if (stored.dtype === "f16" && type !== "f16") expected = roundToF16(exact);
        expect(Buffer.compare(Buffer.from(values.buffer), Buffer.from(expected.buffer)), name).toBe(0);
      }
    }
    expect([...types].sort()).toEqual([...SUPPORTED_TYPES].sort());
    if (dtype !== "native") return;
    const kept: string[] = ["f32", "f16", "bf16", "q8_0", "q4_0", ...PACKED_DTYPES];
    const reencoded = [...reencodedTypes(manifest).keys()];
    expect(reencoded).toEqual(expect.arrayContaining(SUPPORTED_TYPES.filter((type) => !kept.includes(type))));
  });
});

/** What a matrix becomes, in words of the test. */
function wantedDtype({ kind, columns }: StoredTensor, type: string, dtype: Dtype): string {
  const native = { f32: "f32", f16: "f16", bf16: "bf16", q8_0: "q8", q4_0: "q4", q5_0: "q5_0", q1_0: "q8" };
  if (kind === "vector") return "f32";
  const wanted = dtype === "native" ? native[type as keyof typeof native] : dtype;
  return wanted.startsWith("q") && columns % 32 !== 0 ? "f32" : wanted;
}

test("gate and up of different types are q8 in a native cache, and what is rounded is counted", async () => {
  const gateUp = (...sourceTypes: string[]) => ({ kind: "matrix", columns: 64, sourceTypes }) as const;
  expect(tensorDtype(gateUp("q4_0", "q4_0"), "native")).toBe("q4");
  expect(tensorDtype(gateUp("q4_0", "q8_0"), "native")).toBe("q8");
  expect(tensorDtype(gateUp("f16", "f32"), "native")).toBe("q8");
  expect(tensorDtype({ ...gateUp("f16", "f32"), columns: 50 }, "native")).toBe("f32");
  expect(tensorDtype({ ...gateUp("q4_K", "q4_K"), columns: 256 }, "native")).toBe("q4_K");
  const path = makeFile({ type: "q1_0", layers: 1, width: 128, feedForward: 256 });
  const { manifest } = await unpack(path, { dtype: "native", root: temporaryFolder() });
  expect([...reencodedTypes(manifest)]).toEqual([["q1_0", 8]]);
  const exact = await unpack(path, { dtype: "q8", root: temporaryFolder() });
  expect([...reencodedTypes(exact.manifest)]).toEqual([]);
});

test("smaller dtypes are those that nothing more exact is as small as", () => {
  const smaller = (dtype: Dtype, bytes: Record<Dtype, number>) => [
    ...smallerDtypes(dtype, (other) => bytes[other]).keys(),
  ];
  const q8_0 = { f32: 64, native: 17, f16: 32, q8: 17 };
  expect(smaller("f32", q8_0)).toEqual(["native"]);
  expect(smaller("f16", q8_0)).toEqual(["native"]);
  expect(smaller("q8", q8_0)).toEqual([]);
  // What is native in name only is called what it is.
  const tensor = { kind: "matrix" as const, columns: 256, sourceTypes: ["q8_0"] };
  expect(nativeName([tensor])).toBe("q8");
  expect([...smallerDtypes("f32", (dtype) => q8_0[dtype], "q8").keys()]).toEqual(["q8"]);
  expect(nativeName([tensor, { ...tensor, sourceTypes: ["bf16"] }])).toBe("native");
  const f32 = { f32: 64, native: 64, f16: 32, q8: 17 };
  expect(smaller("f32", f32)).toEqual(["f16", "q8"]);
  expect(smaller("f16", f32)).toEqual(["q8"]);
  expect(smaller("q8", { f32: 64, native: 9, f16: 32, q8: 17 })).toEqual(["native"]);
});

test("lz4 makes half floats smaller, and never the embedding", async () => {
  const path = makeFile({ type: "f16", width: 256, feedForward: 768 });
  const plain = await unpack(path, { root: temporaryFolder() });
  const small = await unpack(path, { compression: "lz4", root: temporaryFolder() });
  expect(small.manifest.layers[0].bytes).toBeLessThan(plain.manifest.layers[0].bytes / 1.5);
  expect(small.manifest.embedding.bytes).toBe(plain.manifest.embedding.bytes);
});
