import { createHash } from "node:crypto";
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

describe("512 random blocks, which reach every point of the codebooks", () => {
  /** Beginning of the SHA-256 of the values that libggml gives, every NaN as 0x7fc00000. */
  it.each([
    ["q4_0", "72231984696b6995"],
    ["q4_1", "bf194dda646101b1"],
    ["q5_0", "81ca1bbd40a7a0b2"],
    ["q5_1", "bd5d30ae3e4302ea"],
    ["q8_0", "c3a9697ec3de221f"],
    ["q2_K", "2bf6552cd40a5bf0"],
    ["q3_K", "8d351d5c0269e576"],
    ["q4_K", "121a74a192c97254"],
    ["q5_K", "e43e2aa585dfdb0f"],
    ["q6_K", "1722f5a306f97c5b"],
    ["iq1_s", "608fade7089b0851"],
    ["iq1_m", "9c3737ab41624f7f"],
    ["iq2_xxs", "1d7639b49a7a6f15"],
    ["iq2_xs", "22f0f1c2f2fa00f8"],
    ["iq2_s", "84701c71f43a6e56"],
    ["iq3_xxs", "577c5378ae3e24da"],
    ["iq3_s", "73a3daf176a9268a"],
    ["iq4_nl", "275727db95e939a3"],
    ["iq4_xs", "5e6c967839641f16"],
    ["tq1_0", "4d40f329a98cd68d"],
    ["tq2_0", "1c90cc8e4bee4ea6"],
    ["mxfp4", "a519340326c007af"],
    ["nvfp4", "e9a4cf9d6b394b8e"],
    ["q1_0", "496cb008003eb8bf"],
    ["q2_0", "903b364331bee439"],
  ])("%s", (type, expected) => {
    const { blockSize, blockBytes, dequantize } = blockFormat(type);
    let state = 1;
    const source = Uint8Array.from({ length: 512 * blockBytes }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      return state >>> 24;
    });
    const values = new Float32Array(512 * blockSize);
    dequantize(source, values, values.length);
    const bits = new Uint32Array(values.buffer).map((word) =>
      (word & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : word,
    );
    expect(createHash("sha256").update(bits).digest("hex").slice(0, 16)).toBe(expected);
  });
});

/** Bytes that give every 16-bit scale of a block the same value, wherever it lies. */
const EXTREMES = [
  ["zero", [0, 0]],
  ["0xff, NaN", [0xff, 0xff]],
  ["infinite scales", [0x00, 0x7c]],
  ["minus infinity", [0x00, 0xfc]],
  ["NaN in scales at odd places", [0x7e, 0x7e]],
] as const;

describe.each(EXTREMES)("blocks of nothing but %s", (_, pattern) => {
  it.each(SUPPORTED_TYPES)("%s", (type) => {
    const { blockSize, blockBytes, dequantize } = blockFormat(type);
    const blocks = Math.max(3, 4 / blockBytes);
    const source = Uint8Array.from({ length: blocks * blockBytes }, (__, i) => pattern[i % 2]);
    const untouched = 123.5;
    const target = new Float32Array(blocks * blockSize + 8).fill(untouched);
    dequantize(source, target, blocks * blockSize);
    const values = target.subarray(0, blocks * blockSize);
    // Every value is written, and none behind the last.
    expect(values.includes(untouched)).toBe(false);
    expect(target.subarray(blocks * blockSize).every((value) => value === untouched)).toBe(true);
    if (pattern[0] === 0 && pattern[1] === 0 && type !== "mxfp4")
      expect(values.every((v) => v === 0)).toBe(true);
  });
});

it("the least scale of MXFP4 is not zero, the highest overflows as ggml's does", () => {
  const target = new Float32Array(32);
  // The first value is 1/2, the one of the high half 6.
  blockFormat("mxfp4").dequantize(Uint8Array.of(0, 0x71, ...new Array(15).fill(0)), target, 32);
  expect([target[0], target[16]]).toEqual([2 ** -128, 12 * 2 ** -128]);
  blockFormat("mxfp4").dequantize(Uint8Array.of(255, 0x71, ...new Array(15).fill(0)), target, 32);
  expect([target[0], target[16]]).toEqual([2 ** 127, Infinity]);
});

it("0x7f is zero as a scale of NVFP4", () => {
  const target = new Float32Array(64);
  const pairs = new Array(32).fill(0x22);
  blockFormat("nvfp4").dequantize(Uint8Array.of(0, 1, 0x7f, 0xff, ...pairs), target, 64);
  expect([target[0], target[16], target[32], target[48]]).toEqual([0, 2 ** -9, 0, 480]);
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
    // Bits of a byte from the lowest on: 1, 0, 1, 0, … and 0, 1, 2, 3.
    [
      "q1_0",
      [0, 0x38, ...new Array(16).fill(0x55)],
      Array.from({ length: 128 }, (_, i) => (i % 2 === 0 ? 0.5 : -0.5)),
    ],
    ["q2_0", [0, 0x38, ...new Array(16).fill(0xe4)], Array.from({ length: 64 }, (_, i) => ((i % 4) - 1) / 2)],
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
