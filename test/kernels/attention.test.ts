import { describe, expect, it } from "vitest";
import { attentionScratchBytes, headBytes, KV_TYPES } from "../../src/kernels/kv-layout.ts";
import type { AttentionShape, KvType } from "../../src/kernels/types.ts";
import { f16ToF32 } from "../../src/quant/half.ts";
import { randomFloats, seeded } from "../random.ts";
import { machine } from "./machine.ts";

const KINDS = ["reference", "wasm"] as const;
const BLOCK = 8;
/** Error of softmax(q·K) V for values around 1, by how these are kept. */
const TOLERANCE = { f32: 1e-6, f16: 1e-3, q8: 2e-2 } as const;

interface Case {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  readonly kvType: KvType;
  readonly scale?: number;
  readonly cap?: number;
  readonly window?: number;
}

/** A sequence whose blocks lie in no order, as after growing and cutting back, and hold what others left there. */
function cache(which: (typeof KINDS)[number], described: Case, blockCount = 5) {
  const { heads, kvHeads, headSize, kvType } = described;
  const { kernels, place, floats, memory } = machine(which);
  const shape = { ...described, blockPositions: BLOCK, layerOffset: 64 };
  const bytes = 64 + 2 * kvHeads * headBytes(kvType, headSize, BLOCK);
  const stale = () => place(new Uint8Array(bytes).fill(0xff));
  const addresses = Array.from({ length: blockCount }, stale).reverse();
  const blocks = place(Uint32Array.from(addresses));
  const scratch = place(new Uint8Array(attentionScratchBytes(headSize, BLOCK)).fill(0xff));
  const out = place(new Float32Array(heads * headSize));
  return {
    store: (keys: Float32Array, values: Float32Array, position: number) =>
      kernels.storeKv(place(keys), place(values), shape, blocks, position),
    attend(q: Float32Array, position: number, cuts = [heads]): Float32Array {
      const query = place(q);
      let first = 0;
      for (const end of cuts) {
        kernels.attention(query, shape, blocks, position, first, end, scratch, out);
        first = end;
      }
      return floats(out, heads * headSize);
    },
    bytes: () => addresses.map((address) => new Uint8Array(memory.buffer, address + 64, bytes - 64).slice()),
  };
}

/** Attention as its formula has it. */
function softmaxAttention(
  {
    heads,
    kvHeads,
    headSize,
    scale = 1 / Math.sqrt(headSize),
    cap = Infinity,
  }: Pick<AttentionShape, "heads" | "kvHeads" | "headSize" | "scale" | "cap">,
  q: Float32Array,
  keys: readonly Float32Array[],
  values: readonly Float32Array[],
): number[] {
  return Array.from({ length: heads }, (_, head) => {
    const kv = Math.floor((head * kvHeads) / heads) * headSize;
    const scores = keys.map((key) => {
      let dot = 0;
      for (let i = 0; i < headSize; i++) dot += q[head * headSize + i] * key[kv + i];
      return cap === Infinity ? dot * scale : cap * Math.tanh((dot * scale) / cap);
    });
    const highest = Math.max(...scores);
    const weights = scores.map((score) => Math.exp(score - highest));
    const total = weights.reduce((a, b) => a + b);
    return Array.from({ length: headSize }, (_, i) =>
      values.reduce((sum, value, p) => sum + (weights[p] / total) * value[kv + i], 0),
    );
  }).flat();
}

function largestError(got: ArrayLike<number>, want: ArrayLike<number>): number {
  const scale = Math.max(...Array.from(want, Math.abs));
  return Math.max(...Array.from(want, (value, i) => Math.abs(value - got[i]))) / scale;
}

/** Shapes of heads: groups of one, two, three, four, five and more; sizes that are no multiple of anything. */
const SHAPES = [
  [4, 4, 8],
  [4, 2, 16],
  [6, 2, 10],
  [8, 2, 128],
  [5, 1, 24],
  [7, 1, 33],
  [16, 2, 80],
  [3, 1, 100],
] as const;

describe.each(KINDS)("attention (%s)", (which) => {
  describe.each(KV_TYPES)("over %s keys and values", (kvType) => {
    it.each(SHAPES)("equals a plain softmax: %i heads, %i of keys, size %i", (heads, kvHeads, headSize) => {
      const random = seeded(heads * 100 + headSize);
      const shape = { heads, kvHeads, headSize, kvType };
      const { store, attend } = cache(which, shape);
      const keys: Float32Array[] = [];
      const values: Float32Array[] = [];
      for (let position = 0; position < 5 * BLOCK - 3; position++) {
        keys.push(randomFloats(kvHeads * headSize, random));
        values.push(randomFloats(kvHeads * headSize, random));
        store(keys[position], values[position], position);
        if (position % 5 !== 0 && position % BLOCK !== BLOCK - 1) continue;
        const q = randomFloats(heads * headSize, random).map((value) => value * 3);
        const want = softmaxAttention(shape, q, keys, values);
        expect(largestError(attend(q, position), want)).toBeLessThan(TOLERANCE[kvType]);
      }
    });

    it.each([
      [4, 4, 8, 1],
      [4, 2, 16, 7],
      [8, 2, 32, 8],
      [7, 1, 33, 9],
      [3, 1, 100, 30],
    ])(
      "looks back no further than its window: %i heads, %i of keys, size %i, window %i",
      (heads, kvHeads, headSize, window) => {
        const random = seeded(heads * 10 + window);
        const shape = { heads, kvHeads, headSize, kvType, window, scale: 0.3, cap: 2 };
        const { store, attend } = cache(which, shape);
        const keys: Float32Array[] = [];
        const values: Float32Array[] = [];
        for (let position = 0; position < 5 * BLOCK - 3; position++) {
          keys.push(randomFloats(kvHeads * headSize, random));
          values.push(randomFloats(kvHeads * headSize, random));
          store(keys[position], values[position], position);
          const q = randomFloats(heads * headSize, random).map((value) => value * 3);
          const want = softmaxAttention(shape, q, keys.slice(-window), values.slice(-window));
          expect(largestError(attend(q, position), want)).toBeLessThan(TOLERANCE[kvType]);
        }
      },
    );

    it("takes positions that were cut off and written again", () => {
      const random = seeded(5);
      const shape = { heads: 4, kvHeads: 1, headSize: 32, kvType };
      const { store, attend } = cache(which, shape);
      const made = () => Array.from({ length: 21 }, () => randomFloats(32, random));
      const [keys, values] = [made(), made()];
      for (let p = 0; p < 21; p++) store(new Float32Array(32).fill(NaN), values[20 - p], p);
      for (let p = 0; p < 18; p++) store(keys[p], values[p], p);
      const q = randomFloats(128, random);
      const want = softmaxAttention(shape, q, keys.slice(0, 18), values.slice(0, 18));
      expect(largestError(attend(q, 17), want)).toBeLessThan(TOLERANCE[kvType]);
    });

    it("of zeros is zero, and of equal keys the mean", () => {
      const { store, attend } = cache(which, { heads: 4, kvHeads: 1, headSize: 32, kvType });
      for (let p = 0; p < 11; p++) store(new Float32Array(32), new Float32Array(32), p);
      expect([...attend(new Float32Array(128).fill(2), 10)]).toEqual(Array(128).fill(0));
      for (let p = 0; p < 11; p++) store(new Float32Array(32).fill(1), new Float32Array(32).fill(p), p);
      const mean = attend(new Float32Array(128), 10);
      expect(largestError(mean, Array(128).fill(5))).toBeLessThan(TOLERANCE[kvType]);
    });

    it("holds where scores are far apart", () => {
      const { store, attend } = cache(which, { heads: 4, kvHeads: 1, headSize: 32, kvType });
      // Each position outweighs all before it, and the last but one those behind it.
      for (let p = 0; p < 34; p++)
        store(new Float32Array(32).fill(p === 33 ? 0 : p * 4), new Float32Array(32).fill(p + 1), p);
      const got = attend(new Float32Array(128).fill(50), 33);
      expect(largestError(got, Array(128).fill(33))).toBeLessThan(TOLERANCE[kvType]);
    });

    it("gives NaN, and nothing worse, for values that are none", () => {
      const { store, attend } = cache(which, { heads: 4, kvHeads: 1, headSize: 32, kvType });
      const broken = Float32Array.from({ length: 32 }, (_, i) => [1, NaN, Infinity, -Infinity][i % 4]);
      const sound = new Float32Array(32).fill(1);
      store(sound, sound, 0);
      store(broken, sound, 1);
      const q = new Float32Array(128).fill(1);
      expect([...attend(q, 0)].every((value) => Math.abs(value - 1) < 1e-2)).toBe(true);
      attend(q, 1);
      expect([...attend(q.fill(NaN), 0)].every(Number.isNaN)).toBe(true);
    });
  });

  it("float16 keys are rounded as they should be", () => {
    const { store, attend } = cache(which, { heads: 1, kvHeads: 1, headSize: 8, kvType: "f16" });
    const values = [1 + 2 ** -11, 1 + 3 * 2 ** -11, 65519, 2 ** -25, 3 * 2 ** -25, -(2 ** -14), 0.1, -0];
    store(new Float32Array(8), Float32Array.from(values), 0);
    const rounded = [1, 1 + 2 ** -9, 65504, 0, 2 ** -23, -(2 ** -14), f16ToF32(0x2e66), 0];
    expect([...attend(new Float32Array(8), 0)].map((value) => value + 0)).toEqual(rounded);
  });

  it("q8 keeps a value to half a 127th of the largest of its 32, and never worse than denormal float16", () => {
    const random = seeded(77);
    for (const size of [1e4, 1, 1e-3, 1e-5, 1e-7, 1e-12, 1e-42]) {
      const { store, attend } = cache(which, { heads: 1, kvHeads: 1, headSize: 72, kvType: "q8" });
      const values = randomFloats(72, random).map((value, i) => value * size * (i < 32 ? 1 : 100));
      store(new Float32Array(72), values, 0);
      const got = attend(new Float32Array(72), 0);
      for (const [i, value] of values.entries()) {
        const first = i - (i % 32);
        const largest = Math.max(...values.slice(first, first + 32).map(Math.abs));
        const step = Math.max(2 ** -24, (largest / 127) * (1 + 2 ** -10) + 2 ** -24);
        expect(Math.abs(got[i] - value)).toBeLessThanOrEqual(step * 0.501);
      }
    }
  });
});

describe("attention in WebAssembly", () => {
  it.each(KV_TYPES)("is to the bit the same for heads alone and together: %s", (kvType) => {
    const random = seeded(3);
    for (const [heads, kvHeads, headSize] of SHAPES) {
      const { store, attend } = cache("wasm", { heads, kvHeads, headSize, kvType });
      for (let p = 0; p < 30; p++)
        store(randomFloats(kvHeads * headSize, random), randomFloats(kvHeads * headSize, random), p);
      const q = randomFloats(heads * headSize, random).map((value) => value * 2);
      for (const position of [0, 8, 21, 29]) {
        const together = attend(q, position);
        expect(
          attend(
            q,
            position,
            Array.from({ length: heads }, (_, head) => head + 1),
          ),
        ).toEqual(together);
        expect(attend(q, position, [Math.ceil(heads / 2) - 1, heads - 1, heads])).toEqual(together);
      }
    }
  });

  it.each(KV_TYPES)("stores to the bit what the reference stores: %s", (kvType) => {
    const random = seeded(4);
    for (const [heads, kvHeads, headSize] of SHAPES) {
      const both = KINDS.map((which) => cache(which, { heads, kvHeads, headSize, kvType }, 2));
      for (let p = 0; p < 13; p++) {
        const size = [1, 1e-4, 1e-6, 1e-30, 1e5, 0, 1e9][p % 7];
        const [keys, values] = [0, 1].map(() =>
          randomFloats(kvHeads * headSize, random).map((value) => value * size),
        );
        for (const { store } of both) store(keys, values, p);
      }
      const [reference, wasm] = both.map(({ bytes }) => bytes());
      if (headSize % 8 === 0) expect(wasm).toEqual(reference);
    }
  });

  it.each(KV_TYPES)("is near to the reference, which sums in float64: %s", (kvType) => {
    const random = seeded(6);
    for (const [heads, kvHeads, headSize] of SHAPES) {
      const both = KINDS.map((which) => cache(which, { heads, kvHeads, headSize, kvType }));
      for (let p = 0; p < 37; p++) {
        const [keys, values] = [0, 1].map(() => randomFloats(kvHeads * headSize, random));
        for (const { store } of both) store(keys, values, p);
      }
      const q = randomFloats(heads * headSize, random).map((value) => value * 4);
      const [reference, wasm] = both.map(({ attend }) => attend(q, 36));
      expect(largestError(wasm, reference)).toBeLessThan(kvType === "q8" ? 1e-4 : 1e-5);
    }
  });
});
