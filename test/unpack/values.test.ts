import { describe, expect, test } from "vitest";
import { q8_0, quantizeQ8_0 } from "../../src/quant/q8_0.ts";
import { weightFiles } from "../../src/store/cache.ts";
import { verifyCache } from "../../src/store/verify.ts";
import { weightBytesAs } from "../../src/unpack/planned-file.ts";
import { unpack } from "../../src/unpack/unpack.ts";
import { makeFile, sourceValues, storedValues, temporaryFolder, withGguf } from "./models.ts";

function roundToQ8(values: Float32Array): Float32Array {
  const blocks = new Uint8Array((values.length / 32) * 34);
  quantizeQ8_0(values, blocks, values.length);
  const rounded = new Float32Array(values.length);
  q8_0.dequantize(blocks, rounded, values.length);
  return rounded;
}

const models = [
  ["q8_0, tied", { type: "q8_0" }],
  ["f16, untied", { type: "f16", untied: true, layers: 2 }],
  ["q4_0", { type: "q4_0", layers: 1 }],
  // Rows that are no whole panels, columns that are no whole blocks.
  ["f32, odd sizes", { type: "f32", vocabulary: 301, feedForward: 50, layers: 2 }],
  ["bf16, chunks with several rows of panels", { type: "bf16", width: 512, feedForward: 1504, layers: 1 }],
] as const;

describe.each(models)("%s", (_, changes) => {
  const path = makeFile(changes);

  describe.each(["f32", "q8"] as const)("as %s", (dtype) => {
    test.each(["none", "lz4"] as const)("every value is right (compression %s)", async (compression) => {
      const { folder, manifest } = await unpack(path, { dtype, compression, root: temporaryFolder() });
      expect((await verifyCache(folder)).damages).toEqual([]);
      const names: string[] = [];
      for (const file of weightFiles(manifest)) {
        for (const [name, values] of storedValues(folder, file)) {
          names.push(name);
          const exact = withGguf(path, (gguf) => sourceValues(gguf, name));
          const { dtype } = file.tensors.find((tensor) => tensor.sources.includes(name))!;
          // The weights of Q8_0 are kept as they are.
          const expected = dtype === "q8" && changes.type !== "q8_0" ? roundToQ8(exact) : exact;
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

test("lz4 makes half floats smaller, and never the embedding", async () => {
  const path = makeFile({ type: "f16", width: 256, feedForward: 768 });
  const plain = await unpack(path, { root: temporaryFolder() });
  const small = await unpack(path, { compression: "lz4", root: temporaryFolder() });
  expect(small.manifest.layers[0].bytes).toBeLessThan(plain.manifest.layers[0].bytes / 1.5);
  expect(small.manifest.embedding.bytes).toBe(plain.manifest.embedding.bytes);
});
