import { describe, expect, test } from "vitest";
import { compressChunk, decompressChunk } from "../../src/store/compression.ts";

const BYTES = 64 * 4096;

/** Floats as they come from a float16 model: 13 bits of each are zero. */
function halfFloats(): Uint8Array {
  const values = Float32Array.from({ length: BYTES / 4 }, (_, i) => Math.sin(i * i) * 0.05);
  const bits = new Uint32Array(values.buffer);
  for (let i = 0; i < bits.length; i++) bits[i] &= 0xffffe000;
  return new Uint8Array(values.buffer);
}

function noise(): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length: BYTES }, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state >>> 24;
  });
}

test("floats with few bits shrink by more than half, and come back", () => {
  const chunk = halfFloats();
  const stored = compressChunk(chunk, new Uint8Array(BYTES))!;
  expect(stored.length).toBeLessThan(BYTES / 1.8);
  const target = new Uint8Array(BYTES);
  decompressChunk(stored, target);
  expect(Buffer.compare(target, chunk)).toBe(0);
});

test("what does not shrink is left alone", () => {
  expect(compressChunk(noise(), new Uint8Array(BYTES))).toBeUndefined();
});

describe("damaged bytes", () => {
  const stored = compressChunk(halfFloats(), new Uint8Array(BYTES))!;
  /** Decompress into the middle of a larger buffer, whose rest must stay as it is. */
  const attempt = (bytes: Uint8Array, length = BYTES) => {
    const room = new Uint8Array(length + 8192).fill(0xa5);
    let error: { code?: string } | undefined;
    try {
      decompressChunk(bytes, room.subarray(4096, 4096 + length));
    } catch (thrown) {
      error = thrown as { code?: string };
    }
    const untouched = [...room.subarray(0, 4096), ...room.subarray(4096 + length)];
    expect(untouched.every((byte) => byte === 0xa5)).toBe(true);
    return error?.code;
  };

  test("of another length, cut or empty, are refused", () => {
    expect(attempt(stored, BYTES - 4096)).toBe("bad-cache");
    expect(attempt(stored.subarray(0, stored.length / 2))).toBe("bad-cache");
    for (const length of [0, 1, 3, 4, 5]) expect(attempt(stored.subarray(0, length))).toBe("bad-cache");
  });

  test("that promise gigabytes are refused at once", () => {
    expect(attempt(Uint8Array.of(255, 255, 255, 255, 0x1f, 1, 1, 0))).toBe("bad-cache");
  });

  test("anywhere never crash nor write outside", () => {
    for (let i = 0; i < stored.length; i += 997) {
      const bad = Uint8Array.from(stored);
      bad[i] ^= 0x55;
      expect(attempt(bad)).toSatisfy((code) => code === undefined || code === "bad-cache");
    }
  });
});
