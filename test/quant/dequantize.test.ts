import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { blockFormat, SUPPORTED_TYPES } from "../../src/quant/index.ts";

const VECTORS = new URL("../../../shared/vectors/dequant/", import.meta.url);

interface VectorType {
  name: string;
  block_size: number;
  type_size: number;
  elements: number;
  sets?: { set: string; raw: string; expected: string }[];
}

describe.runIf(existsSync(VECTORS))("dequantization against ggml", () => {
  // A suite that does not run is collected all the same.
  const manifest = new URL("manifest.json", VECTORS);
  const types: VectorType[] = existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")).types : [];
  const cases = types.flatMap((type) => (type.sets ?? []).map((set) => ({ type, set })));
  const present = cases.filter(
    ({ type, set }) => SUPPORTED_TYPES.includes(type.name) && existsSync(new URL(set.raw, VECTORS)),
  );

  it("has vectors of every supported block type", () => {
    const covered = new Set(present.map(({ type }) => type.name));
    expect(SUPPORTED_TYPES.filter((name) => !covered.has(name))).toEqual(["f32"]);
  });

  it.each(present)("$type.name $set.set is bit-identical", ({ type, set }) => {
    const format = blockFormat(type.name);
    expect([format.blockSize, format.blockBytes]).toEqual([type.block_size, type.type_size]);
    // One byte in front: blocks lie at any alignment.
    const raw = readFileSync(new URL(set.raw, VECTORS));
    const shifted = new Uint8Array(raw.length + 1);
    shifted.set(raw, 1);
    const target = new Float32Array(type.elements);
    format.dequantize(shifted.subarray(1), target, type.elements);
    const expected = readFileSync(new URL(set.expected, VECTORS));
    const words = new Uint32Array(target.buffer);
    let different = 0;
    for (let i = 0; i < words.length; i++) {
      if (words[i] !== expected.readUInt32LE(4 * i)) different++;
    }
    expect(different).toBe(0);
    expect(expected.length).toBe(4 * type.elements);
  });
});

/** A block whose quants are 0 to 15 twice over, with scale 0.5 (0x3800) and, where there is one, minimum -1 (0xbc00). */
const nibbles = Array.from({ length: 16 }, (_, i) => i | ((15 - i) << 4));
const up = Array.from({ length: 16 }, (_, i) => i);
const both = [...up, ...up.toReversed()];

describe("dequantization by hand", () => {
  it.each([
    ["f32", [0, 0, 0x80, 0x3f], [1]],
    ["f16", [0, 0x3c, 1, 0x80], [1, -(2 ** -24)]],
    ["bf16", [0x80, 0x3f, 0x40, 0xc0], [1, -3]],
    [
      "q8_0",
      [0, 0x38, ...Array.from({ length: 32 }, (_, i) => (i * 8 - 128) & 255)],
      Array.from({ length: 32 }, (_, i) => i * 4 - 64),
    ],
    ["q4_0", [0, 0x38, ...nibbles], both.map((q) => (q - 8) / 2)],
    ["q4_1", [0, 0x38, 0, 0xbc, ...nibbles], both.map((q) => q / 2 - 1)],
    [
      "q5_0",
      [0, 0x38, 1, 0, 1, 0x80, ...nibbles],
      both.map((q, i) => (q + ([0, 16, 31].includes(i) ? 16 : 0) - 16) / 2),
    ],
    [
      "q5_1",
      [0, 0x38, 0, 0xbc, 1, 0, 1, 0x80, ...nibbles],
      both.map((q, i) => (q + ([0, 16, 31].includes(i) ? 16 : 0)) / 2 - 1),
    ],
  ])("%s", (type, bytes, expected) => {
    const target = new Float32Array(expected.length);
    blockFormat(type).dequantize(Uint8Array.from(bytes), target, expected.length);
    expect([...target]).toEqual(expected);
  });

  it("refuses other types by name", () => {
    expect(() => blockFormat("q8_K", "blk.0.attn_q.weight")).toThrow(
      'tensor "blk.0.attn_q.weight" of type q8_K cannot be read; sluice reads f32, f16, bf16, q8_0',
    );
  });
});
